import type { InputShapeFromFields, OutputRef } from '@pothos/core';
import type { Listing } from '../context.ts';
import type { Page } from '../database/page.ts';
import type { Selected } from '../database/selected.ts';
import { ValidationError, type ValidationIssue } from '../errors/gateway-errors.ts';
import type { Position } from '../values/cursor.ts';
import { formatPosition, parsePosition } from '../values/cursor.ts';
import { builder } from './builder.ts';
import { type List, readListPage } from './list-page.ts';
import { wholeNumberRule } from './rules.ts';
import { reads, readsBelow, resolveFrom } from './selected-properties.ts';

/** The default page size. */
export const DEFAULT_PAGE_SIZE = 50;
/** The maximum page size. */
export const MAX_PAGE_SIZE = 100;

/** One page of a list, with the page information of Relay connections. */
export type Connection<Node> = {
  nodes: Node[];
  hasPreviousPage: boolean;
  hasNextPage: boolean;
  totalCount: () => Promise<number>;
  etag: () => Promise<string>;
};

type PageArguments = InputShapeFromFields<ReturnType<typeof pageArguments>>;

/**
 * Reads one page of a list: the one that a REST route requests, or the one of the connection's arguments. One more
 * record is read to find out whether another page follows.
 * @throws {ValidationError} for a bad cursor, or `first` together with `last`
 */
export async function connect<Node>(
  args: PageArguments,
  listing: Listing | undefined,
  list: List<Node>,
): Promise<Connection<Node>> {
  const { totalCount } = list;
  if (listing !== undefined) {
    const records = await readListPage(list, listing);
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

function toPage(
  { first, after, last, before }: PageArguments,
  isId: (id: string) => boolean,
): Page & { limit: number } {
  const issues: ValidationIssue[] = [];
  if (first != null && last != null) {
    issues.push({ path: ['last'], message: 'must not be combined with first', value: last });
  }
  const position = (argument: string, cursor: string | null | undefined) => {
    const found = cursor == null ? undefined : parsePosition(cursor);
    if (cursor != null && !(found && isId(found.id))) {
      issues.push({ path: [argument], message: 'must be a cursor of this list', value: cursor });
    }
    return found;
  };
  const page = {
    after: position('after', after),
    before: position('before', before),
    backwards: last != null,
    limit: last ?? first ?? DEFAULT_PAGE_SIZE,
  };
  if (issues.length > 0) throw new ValidationError(issues);
  return page;
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
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether records follow this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description: 'Whether records precede this page.',
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

function cursorAt(nodes: readonly ListedRecord[], index: number): string | undefined {
  const node = nodes.at(index);
  if (node === undefined) return undefined;
  const { id, createdAt } = node;
  if (createdAt === undefined) throw new Error('The position of a record was not selected.');
  return formatPosition({ id, createdAt });
}

/** The field `cursor` of every edge. */
export const cursorField = {
  description: 'Cursor of the record, for `after` and `before`.',
  ...resolveFrom<Position>()(['id', 'createdAt'], formatPosition),
};

/** Defines the connection type of a list, of the record's type and its edge's. */
export function connectionType<Node extends ListedRecord>(
  name: string,
  { node, edge }: { node: OutputRef<Node>; edge: OutputRef<Node> },
) {
  return builder.objectRef<Connection<Node>>(`${name}Connection`).implement({
    description: 'A page of a list, newest records first.',
    fields: (t) => ({
      nodes: t.field({
        type: [node],
        description: 'The records of the page.',
        extensions: readsBelow,
        resolve: ({ nodes }) => nodes,
      }),
      edges: t.field({
        type: [edge],
        description: 'The records of the page, each with its cursor.',
        extensions: readsBelow,
        resolve: ({ nodes }) => nodes,
      }),
      pageInfo: t.field({
        type: PageInfo,
        description: 'The position of the page in the list.',
        extensions: reads<Position>('id', 'createdAt'),
        resolve: ({ nodes, hasNextPage, hasPreviousPage }) => ({
          hasNextPage,
          hasPreviousPage,
          startCursor: cursorAt(nodes, 0),
          endCursor: cursorAt(nodes, -1),
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
        extensions: reads<List<Node>>('etag'),
        resolve: ({ etag }) => etag(),
      }),
    }),
  });
}

/** The arguments of every connection. */
export function pageArguments() {
  return builder.args((t) => ({
    first: t.int({
      description: `The number of records to return from the start of the list, 1 to ${MAX_PAGE_SIZE}. Defaults to ${DEFAULT_PAGE_SIZE}.`,
      validate: wholeNumberRule(1, MAX_PAGE_SIZE),
    }),
    after: t.string({ description: 'Returns only records after this cursor.' }),
    last: t.int({
      description: `The number of records to return from the end of the list, 1 to ${MAX_PAGE_SIZE}. Cannot be combined with \`first\`.`,
      validate: wholeNumberRule(1, MAX_PAGE_SIZE),
    }),
    before: t.string({ description: 'Returns only records before this cursor.' }),
  }));
}
