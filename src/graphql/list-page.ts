import type { PageRequest } from '../context.ts';
import type { Page, Tagged } from '../database/page.ts';

/** How to read a list. */
export type ListReader<Node> = {
  readRecords: (page: Page) => Promise<Tagged<Node>[]>;
  totalCount: () => Promise<number>;
  /** Reads the entity tag of the whole list. It changes with every change to a record of the list. */
  etag: () => Promise<string>;
  /**
   * The properties of the records that the operation reads; also contains `etag` if it reads the entity tag.
   * `undefined` if it may read all properties.
   */
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
  { page, matchesKnownTag }: PageRequest,
): Promise<ListPage<Node>> {
  const isTagSelected = list.selected?.has('etag') ?? true;
  if (!isTagSelected) return { nodes: await list.readRecords(page), etag: list.etag };
  return matchesKnownTag === undefined
    ? readWithTag(list, page)
    : readUnlessKnown(list, page, matchesKnownTag);
}

type ListPage<Node> = { nodes: Node[]; etag: () => Promise<string> };

/**
 * Reads the records and the tag in one statement. An empty page has no record to carry the tag. In that case, the tag
 * is read on its own, and after it the page once more (see {@link readUnlessKnown}).
 */
async function readWithTag<Node>(list: ListReader<Node>, page: Page): Promise<ListPage<Node>> {
  const nodes = await list.readRecords({ ...page, tagged: true });
  const tag = nodes[0]?.tag;
  return typeof tag === 'string'
    ? { nodes, etag: async () => tag }
    : readUnlessKnown(list, page, () => false);
}

/** Reads the tag first, so that a change in between cannot combine old records with the new tag. */
async function readUnlessKnown<Node>(
  list: ListReader<Node>,
  page: Page,
  isKnown: (etag: string) => boolean,
): Promise<ListPage<Node>> {
  const tag = await list.etag();
  return { nodes: isKnown(tag) ? [] : await list.readRecords(page), etag: async () => tag };
}
