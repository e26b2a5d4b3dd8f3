import type { OutputRef } from '@pothos/core';
import type { PageRequest } from '../context.ts';
import type { Selected } from '../database/selected.ts';
import { formatPosition, type Position } from '../values/cursor.ts';
import { builder } from './builder.ts';
import { type ListReader, readListPage } from './list-page.ts';
import { type PageArguments, toPage } from './page-arguments.ts';
import { readBySubfields, reads, resolveFrom } from './selected-properties.ts';

/** A page of a list, as a Relay connection. */
export type Connection<Node> = {
  nodes: Node[];
  hasPreviousPage: boolean;
  hasNextPage: boolean;
  totalCount: () => Promise<number>;
  etag: () => Promise<string>;
};

/**
 * Reads a page of a list. A REST route passes the page as `restPage`. Otherwise the arguments select it, and one record
 * more than the page is read, to find out whether there is another page. REST replies do not contain that information.
 * @throws {ValidationError} for an invalid cursor, or if `first` and `last` are combined
 */
export async function readConnection<Node>(
  args: PageArguments,
  restPage: PageRequest | undefined,
  list: ListReader<Node>,
): Promise<Connection<Node>> {
  const { totalCount } = list;
  if (restPage !== undefined) {
    const records = await readListPage(list, restPage);
    return { ...records, hasPreviousPage: false, hasNextPage: false, totalCount };
  }
  const { limit, ...page } = toPage(args, list.isId);
  const { nodes: read, etag } = await readListPage(list, { page: { ...page, limit: limit + 1 } });
  const nodes = read.slice(0, limit);
  const hasMore = read.length > limit;
  const whole = { totalCount, etag };
  return page.backwards
    ? { nodes: nodes.reverse(), hasPreviousPage: hasMore, hasNextPage: page.before !== undefined, ...whole }
    : { nodes, hasPreviousPage: page.after !== undefined, hasNextPage: hasMore, ...whole };
}

/** A record of a list, with the selected properties. */
type ListedRecord = Selected<Position, 'id'>;

/** The position of a page in its list. */
type PageEnds = {
  hasNextPage: boolean;
  hasPreviousPage: boolean;
  startCursor: string | undefined;
  endCursor: string | undefined;
};

/** The page information of every connection. */
export const PageInfo = builder.objectRef<PageEnds>('PageInfo').implement({
  description: 'The position of a page in its list.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', {
      description:
        'Whether there is a next page. Without `last`: whether more records follow this page, up to the cursor `before` if it is given. With `last`: whether `before` is given.',
    }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description:
        'Whether there is a previous page. With `last`: whether more records precede this page, back to the cursor `after` if it is given. Without `last`: whether `after` is given.',
    }),
    startCursor: t.exposeString('startCursor', {
      description: 'Cursor of the first record. `null` on an empty page.',
      nullable: true,
    }),
    endCursor: t.exposeString('endCursor', {
      description: 'Cursor of the last record. `null` on an empty page.',
      nullable: true,
    }),
  }),
});

function formatCursorAt(nodes: readonly ListedRecord[], index: number): string | undefined {
  const node = nodes.at(index);
  if (node === undefined) return undefined;
  const { id, createdAt } = node;
  if (createdAt === undefined)
    throw new Error('The cursor of a record needs `createdAt`, which was not selected.');
  return formatPosition({ id, createdAt });
}

/** The field `cursor` of the edges of lists that are sorted by creation time. */
export const cursorField = {
  description: 'Cursor of the record, for `after` and `before`.',
  ...resolveFrom<Position>()(['id', 'createdAt'], formatPosition),
};

/** Defines the connection type of a list, from the types of its records and edges. */
export function defineConnectionType<Node extends ListedRecord>(
  name: string,
  { node, edge }: { node: OutputRef<Node>; edge: OutputRef<Node> },
) {
  return builder.objectRef<Connection<Node>>(`${name}Connection`).implement({
    description: 'A page of a list, newest records first.',
    fields: (t) => ({
      nodes: t.field({
        type: [node],
        description: 'The records of the page.',
        extensions: readBySubfields,
        resolve: ({ nodes }) => nodes,
      }),
      edges: t.field({
        type: [edge],
        description: 'The records of the page, each with its cursor.',
        extensions: readBySubfields,
        resolve: ({ nodes }) => nodes,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'The position of the page in the list.',
        extensions: reads<Position>('id', 'createdAt'),
        resolve: ({ nodes, hasNextPage, hasPreviousPage }) => ({
          hasNextPage,
          hasPreviousPage,
          startCursor: formatCursorAt(nodes, 0),
          endCursor: formatCursorAt(nodes, -1),
        }),
      }),
      totalCount: t.int({
        description:
          'The number of records that match the filters, on all pages. Counted only if it is selected.',
        extensions: reads(),
        resolve: ({ totalCount }, _args, { readScheduler, viewer }) =>
          readScheduler.run(viewer.userId, totalCount),
      }),
      etag: t.string({
        description:
          "Entity tag of the user's whole list, regardless of filters. It changes whenever a record of the list changes. " +
          'The REST API returns it as `ETag`.',
        extensions: reads<ListReader<Node>>('etag'),
        resolve: ({ etag }) => etag(),
      }),
    }),
  });
}
