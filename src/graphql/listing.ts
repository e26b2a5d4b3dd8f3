import type { Listing } from '../context.ts';
import type { Page, Tagged } from '../database/page.ts';

/** How a list is read: a page of it, or what is known of the whole. */
export type List<Node> = {
  page: (page: Page) => Promise<Tagged<Node>[]>;
  totalCount: () => Promise<number>;
  /** The entity tag of the whole list: another after every change of one of its records. */
  etag: () => Promise<string>;
  /** Whether an id in a cursor can be one of this list's. */
  isId: (id: string) => boolean;
};

/** Reads the list that a REST path asked for, and its tag: nothing where the client has it. */
export async function readListing<Node>(listing: Listing, list: List<Node>): Promise<Node[]> {
  if (listing.has === undefined) {
    const nodes = await list.page({ ...listing.page, tagged: true });
    const [first] = nodes;
    // An empty list carries no tag.
    if (first?.tag != null) {
      listing.etag = first.tag;
      return nodes;
    }
  }
  // Before reading: with a later change the client would hold an old list under a new tag.
  listing.etag = await list.etag();
  return listing.has?.(listing.etag) ? [] : list.page(listing.page);
}
