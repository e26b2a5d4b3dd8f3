import type { PageRequest } from '../context.ts';
import type { Page, Tagged } from '../database/page.ts';

/** How to read a list. */
export type ListReader<Node> = {
  readRecords: (page: Page) => Promise<Tagged<Node>[]>;
  totalCount: () => Promise<number>;
  /** Reads the entity tag of the whole list, which every change to a record of the list changes. */
  etag: () => Promise<string>;
  /** The properties that the operation selects; `undefined` if any may be needed. */
  selected: ReadonlySet<string> | undefined;
  /** Whether an ID in a cursor can belong to this list. */
  isId: (id: string) => boolean;
};

/**
 * Reads a page and, if the operation selects it, the entity tag. Reads no records if the client already has the list
 * with this tag.
 */
export async function readListPage<Node>(
  list: ListReader<Node>,
  { page, clientHasTag }: PageRequest,
): Promise<{ nodes: Node[]; etag: () => Promise<string> }> {
  if (list.selected?.has('etag') === false) return { nodes: await list.readRecords(page), etag: list.etag };
  if (clientHasTag === undefined) {
    const nodes = await list.readRecords({ ...page, tagged: true });
    // An empty page has no record with a tag.
    const tag = nodes[0]?.tag;
    if (typeof tag === 'string') return { nodes, etag: async () => tag };
  }
  // The tag is read first, so that a change in between cannot combine old records with the new tag.
  const tag = await list.etag();
  return { nodes: clientHasTag?.(tag) ? [] : await list.readRecords(page), etag: async () => tag };
}
