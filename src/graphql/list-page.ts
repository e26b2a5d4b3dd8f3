import type { Listing } from '../context.ts';
import type { Page, Tagged } from '../database/page.ts';

/** The functions that read a list. */
export type List<Node> = {
  page: (page: Page) => Promise<Tagged<Node>[]>;
  totalCount: () => Promise<number>;
  /** Reads the entity tag of the whole list, which every change to a record of the list changes. */
  etag: () => Promise<string>;
  /** The properties that the operation selects; `undefined` if any may be needed. */
  selected: ReadonlySet<string> | undefined;
  /** Whether an ID in a cursor can belong to this list. */
  isId: (id: string) => boolean;
};

/** The records of a page, and the entity tag of the whole list. */
type ListPage<Node> = { nodes: Node[]; etag: () => Promise<string> };

/**
 * Reads a page and, if the operation selects it, the entity tag. Reads no records if the client already has the list
 * with this tag.
 */
export async function readListPage<Node>(
  list: List<Node>,
  { page, isKnown }: Listing,
): Promise<ListPage<Node>> {
  if (list.selected?.has('etag') === false) return { nodes: await list.page(page), etag: list.etag };
  if (isKnown === undefined) {
    const nodes = await list.page({ ...page, tagged: true });
    // An empty page has no record with a tag.
    const tag = nodes[0]?.tag;
    if (typeof tag === 'string') return { nodes, etag: async () => tag };
  }
  // The tag is read first, so that a change in between cannot combine old records with the new tag.
  const tag = await list.etag();
  return { nodes: isKnown?.(tag) ? [] : await list.page(page), etag: async () => tag };
}
