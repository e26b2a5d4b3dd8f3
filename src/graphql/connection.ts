import type { OutputRef } from '@pothos/core';
import type { Listed, Page } from '../database/page.ts';
import { MAX_COUNT } from '../database/page.ts';
import type { Selected } from '../database/read.ts';
import { matchesEntityTag } from '../http/messages.ts';
import { formatPosition, type Position } from '../values/cursor.ts';
import { builder } from './builder.ts';
import { type ListArguments, restOnly, SCAN_LIMIT, toPage } from './page-arguments.ts';
import { readBySubfields, reads } from './selected-fields.ts';

/** A page of a list, as a Relay connection. */
export type Connection<Node> = {
  nodes: Node[];
  /** The records at the start and the end of what was read. One of them may not match the filter. */
  ends: { start: Node | undefined; end: Node | undefined };
  hasPreviousPage: boolean;
  hasNextPage: boolean;
  totalCount: () => Promise<number>;
  /** Whether concurrent counts become one statement. They must then not wait for each other. */
  isBatched: boolean | undefined;
  /** The entity tag of the list, if it was read. */
  etag: string | undefined;
};

/** The description of pages that may be short. */
export const shortPageNote = `A page of a filtered list may be shorter than requested although there is a next page: it ends after ${SCAN_LIMIT} records were checked, and may be empty. Continue until \`hasNextPage\` is \`false\`.`;

/** How to read a list. */
export type ListReader<Node> = {
  readRecords: (page: Page) => Promise<Listed<Node>[]>;
  totalCount: () => Promise<number>;
  /** Reads the entity tag of the whole list. It changes with every change to a record of the list. */
  readTag: () => Promise<string>;
  /** Whether an ID in a cursor can belong to this list. */
  isId: (id: string) => boolean;
  /** Whether the records are of all users. */
  isAcrossUsers?: boolean;
  /** Whether the list is read together with the lists of other users. */
  isBatched?: boolean;
};

/**
 * Reads a page of a list, and one record more, to find out whether there is another page.
 * @throws {ValidationError} for an invalid cursor, or if `first` and `last` are combined
 */
export async function readConnection<Node extends ListedRecord>(
  args: ListArguments,
  list: ListReader<Node>,
): Promise<Connection<Node>> {
  const { totalCount, isBatched } = list;
  const { limit, ...page } = toPage(args, list.isId, list.isAcrossUsers);
  const { records, etag } = await readTagged(list, { ...page, limit: limit + 1 }, args.ifNoneMatch);
  const found = records.slice(0, limit);
  const hasMore = records.length > limit || records.at(-1)?.isScanEnd === true;
  const range = page.backwards ? found.reverse() : found;
  const nodes = range.filter(({ isMatch }) => isMatch !== false);
  const part = { nodes, ends: { start: range.at(0), end: range.at(-1) }, totalCount, isBatched, etag };
  return page.backwards
    ? { ...part, hasPreviousPage: hasMore, hasNextPage: page.before !== undefined }
    : { ...part, hasPreviousPage: page.after !== undefined, hasNextPage: hasMore };
}

/**
 * Reads a page. If `ifNoneMatch` is given, reads the entity tag of its list too, and no records if the client already has
 * the list with this tag.
 */
async function readTagged<Node>(
  list: ListReader<Node>,
  page: Page,
  ifNoneMatch: string | null | undefined,
): Promise<{ records: Listed<Node>[]; etag?: string }> {
  if (ifNoneMatch == null) return { records: await list.readRecords(page) };
  if (ifNoneMatch === '') {
    // One statement reads both. An empty page has no record to carry the tag, and is read again below.
    const records = await list.readRecords({ ...page, tagged: true });
    const tag = records[0]?.tag;
    if (typeof tag === 'string') return { records, etag: tag };
  }
  // The tag is read first, so that a change in between cannot combine old records with the new tag.
  const etag = await list.readTag();
  return { records: matchesEntityTag(ifNoneMatch, etag) ? [] : await list.readRecords(page), etag };
}

/** Reads a page of a list across users, which the REST API does not have. */
export function readConnectionAcrossUsers<Node extends ListedRecord>(
  args: ListArguments,
  list: Pick<ListReader<Node>, 'readRecords' | 'totalCount' | 'isId'>,
): Promise<Connection<Node>> {
  return readConnection(args, { ...list, isAcrossUsers: true, readTag: async () => '' });
}

/** A record of a list, with the selected properties. */
export type ListedRecord = Selected<Position, 'id'>;

/** The position of a page in its list. */
type PageEnds = Pick<Connection<unknown>, 'hasNextPage' | 'hasPreviousPage'> & {
  startCursor: string | undefined;
  endCursor: string | undefined;
};

/** The page information of every connection. */
export const PageInfo = builder.objectRef<PageEnds>('PageInfo').implement({
  description: 'The position of a page in its list.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', {
      description:
        'Whether there is a next page. Without `last`: whether more records follow this page, up to the cursor `before` if it is given; of a filtered list, the next page may be empty. With `last`: whether `before` is given.',
    }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', {
      description:
        'Whether there is a previous page. With `last`: whether more records precede this page, back to the cursor `after` if it is given; of a filtered list, the previous page may be empty. Without `last`: whether `after` is given.',
    }),
    startCursor: t.exposeString('startCursor', {
      description:
        'Cursor at the start of the page, for `before`. `null` if the page is empty and the list ends there.',
      nullable: true,
    }),
    endCursor: t.exposeString('endCursor', {
      description:
        'Cursor at the end of the page, for `after`. `null` if the page is empty and the list ends there.',
      nullable: true,
    }),
  }),
});

function positionOf({ id, createdAt }: ListedRecord): Position {
  if (createdAt === undefined) throw new Error('A list must read `createdAt` of every record.');
  return { id, createdAt };
}

function positionAcrossUsers({ userId, ...record }: ListedRecord): Position {
  if (userId === undefined) throw new Error('A list across users must read `userId` of every record.');
  return { ...positionOf(record), userId };
}

/** Describes a limited count. If it is limited by what it checks, `records` and `maxChecked` say how. */
export function describeCount(records?: string, maxChecked?: number): string {
  const checked =
    records === undefined
      ? ''
      : ` If conditions are checked for each record, the newest ${maxChecked} ${records} are, an equal part of them of each given user, so that the number may be too low.`;
  return `The number of records that match the filter, on all pages, at most ${MAX_COUNT}: \`${MAX_COUNT}\` means ${MAX_COUNT} or more.${checked} Counted only if it is selected.`;
}

/** What a list consists of: the type of its records, and what descriptions call one of them. */
type ListType<Node> = {
  node: OutputRef<Node>;
  record: string;
  /** The description of the count of a list across users. */
  acrossUsers?: { totalCount: string };
};

/** Defines the connection type of a list, and the type of its edges. */
export function defineConnectionType<Node extends ListedRecord>(
  name: string,
  { node, record, acrossUsers }: ListType<Node>,
) {
  const toPosition = acrossUsers ? positionAcrossUsers : positionOf;
  const formatCursor = (record: Node) => formatPosition(toPosition(record));
  const readPosition = reads<Position>('id', 'createdAt', ...(acrossUsers ? (['userId'] as const) : []));
  // TypeScript cannot decide whether an unknown `Node` is a list.
  const knownNode: OutputRef<ListedRecord> = node;
  const edge = builder.objectRef<Node>(`${name}Edge`).implement({
    description: `A ${record}${acrossUsers ? ' of any user' : ''} in a list, with its cursor.`,
    fields: (t) => ({
      node: t.field({
        type: knownNode,
        description: `The ${record}.`,
        extensions: readBySubfields,
        resolve: (found) => found,
      }),
      cursor: t.string({
        description: `Cursor of the record, for \`after\`${acrossUsers ? '' : ' and `before`'}.`,
        extensions: readPosition,
        resolve: formatCursor,
      }),
    }),
  });
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
        extensions: readPosition,
        resolve: ({ ends: { start, end }, ...page }) => ({
          ...page,
          startCursor: start && formatCursor(start),
          endCursor: end && formatCursor(end),
        }),
      }),
      ...(!acrossUsers && {
        etag: t.string({ ...restOnly, nullable: true, resolve: ({ etag }) => etag }),
      }),
      totalCount: t.int({
        description:
          acrossUsers?.totalCount ??
          'The number of records that match the filters, on all pages. Counted only if it is selected.',
        extensions: reads(),
        resolve: ({ totalCount, isBatched }, _args, { readScheduler, viewer }) =>
          isBatched ? totalCount() : readScheduler.run(viewer.userId, totalCount),
      }),
    }),
  });
}
