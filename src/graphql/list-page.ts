import type { Listing } from '../context.ts';
import type { Page, Tagged } from '../database/page.ts';

/** How a list is read. */
export type List<Node> = {
  page: (page: Page) => Promise<Tagged<Node>[]>;
  totalCount: () => Promise<number>;
  /** The entity tag of the whole list, which every change to one of its records changes. */
  etag: () => Promise<string>;
  /** The properties that the operation reads; undefined if it may read any. */
  reads: ReadonlySet<string> | undefined;
  /** Whether an ID in a cursor can belong to this list. */
  isId: (id: string) => boolean;
};

/** Records of a list, and the entity tag of the whole list. */
type Records<Node> = { nodes: Node[]; etag: () => Promise<string> };

/**
 * Reads a page and, if the operation selects it, the entity tag. No records are read if the client already has the list
 * with that tag.
 */
export async function readListPage<Node>(
  list: List<Node>,
  { page, isKnown }: Listing,
): Promise<Records<Node>> {
  if (list.reads?.has('etag') === false) return { nodes: await list.page(page), etag: list.etag };
  if (isKnown === undefined) {
    const nodes = await list.page({ ...page, tagged: true });
    // An empty page carries no tag.
    const tag = nodes[0]?.tag;
    if (typeof tag === 'string') return { nodes, etag: async () => tag };
  }
  // The tag is read first: after a change in between, the client must not keep old records with the new tag.
  const tag = await list.etag();
  return { nodes: isKnown?.(tag) ? [] : await list.page(page), etag: async () => tag };
}
