import type { OutputRef } from '@pothos/core';
import type { RootValue } from '../context.ts';
import type { Listed, Page } from '../database/page.ts';
import { MAX_COUNT } from '../database/page.ts';
import { mayBeLong, type Selected } from '../database/read.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import type { RestList } from '../quota/read-scheduler.ts';
import { formatPosition, type Position } from '../values/cursor.ts';
import { builder } from './builder.ts';
import type { ByteShare } from './byte-share.ts';
import { type PageArguments, toPage } from './page-arguments.ts';
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
  isBatched?: boolean;
};

/**
 * The maximum number of records that a filtered page scans, so that a filter that few records match costs no more than
 * reading some pages.
 */
export const SCAN_LIMIT = 2000;

/** The description of pages that may be short. */
export const shortPageNote = `A page may be shorter than requested although there is a next page: it ends before its records exceed 16 MiB, but contains at least one; several lists of a request share the 16 MiB. A page of a filtered list ends after ${SCAN_LIMIT} records were checked, and may be empty. Continue until \`hasNextPage\` is \`false\`.`;

/**
 * Reads a page of a list. A REST route passes it as the root value. Otherwise the arguments select it, and one record
 * more is read, to find out whether there is another page. REST replies do not contain that information.
 * @throws {ValidationError} for an invalid cursor, or if `first` and `last` are combined
 */
export async function readConnection<Node extends ListedRecord>(
  args: PageArguments,
  { list: restList, matchesKnownTag }: RootValue,
  list: ListReader<Node>,
): Promise<Connection<Node>> {
  const { totalCount } = list;
  if (restList !== undefined) {
    const nodes = await readRestPart(list, restList, matchesKnownTag);
    const ends = { start: nodes.at(0), end: nodes.at(-1) };
    return { nodes, ends, hasPreviousPage: false, hasNextPage: false, totalCount };
  }
  const { limit, ...page } = toPage(args, list.isId, list.isAcrossUsers);
  const records = await list.readRecords({
    ...page,
    limit: limit + 1,
    scanLimit: SCAN_LIMIT,
    inlineBytes: Math.floor(list.share.inlineBytes / limit),
  });
  const { complete, scanned } = await completeTexts(
    list,
    records.slice(0, limit),
    list.share,
    list.admitLargeRead,
  );
  const hasMore = scanned.length < records.length || records.at(-1)?.isScanEnd === true;
  const [shown, range] = page.backwards ? [complete.reverse(), scanned.reverse()] : [complete, scanned];
  const nodes = shown.filter(({ isMatch }) => isMatch !== false);
  list.onReturn?.(nodes.length);
  const part = {
    nodes,
    ends: { start: range.at(0), end: range.at(-1) },
    totalCount,
    isBatched: list.onReturn !== undefined,
  };
  return page.backwards
    ? { ...part, hasPreviousPage: hasMore, hasNextPage: page.before !== undefined }
    : { ...part, hasPreviousPage: page.after !== undefined, hasNextPage: hasMore };
}

/** How to read a list across users. `texts` reads the long texts of its records; without it, they have none. */
export type ReaderAcrossUsers<Node> = Pick<
  ListReader<Node>,
  'readRecords' | 'totalCount' | 'share' | 'isId'
> & {
  texts?: Pick<ListReader<Node>, 'readTexts' | 'admitLargeRead'>;
};

/** Reads a page of a list across users, which the REST API does not have. */
export function readConnectionAcrossUsers<Node extends ListedRecord>(
  args: PageArguments,
  { texts, ...list }: ReaderAcrossUsers<Node>,
): Promise<Connection<Node>> {
  const { readTexts, admitLargeRead } = texts ?? {
    readTexts: async () => [],
    admitLargeRead: async () => true,
  };
  return readConnection(
    args,
    {},
    { ...list, readTexts, admitLargeRead, isAcrossUsers: true, readTag: async () => '' },
  );
}

/** How to read records that may have long texts. */
export type RecordReader<Node> = {
  readRecords: (page: Page) => Promise<Listed<Node>[]>;
  /** Reads the selected long texts of the records with these IDs. `users[i]` owns `ids[i]`, if the list is across users. */
  readTexts: (ids: string[], users: string[]) => Promise<(Partial<Node> & { id: string })[]>;
  /** Whether the records are of all users. IDs are not unique across users, so the key of a record includes its user. */
  isAcrossUsers?: boolean;
  /** How much long text the list may have. */
  share: ByteShare;
  /** Waits until the request may read so many bytes of omitted texts, and returns whether it may. */
  admitLargeRead: (bytes: number) => Promise<boolean>;
};

/** How to read a list. */
export type ListReader<Node> = RecordReader<Node> & {
  totalCount: () => Promise<number>;
  /** Reads the entity tag of the whole list. It changes with every change to a record of the list. */
  readTag: () => Promise<string>;
  /** Whether an ID in a cursor can belong to this list. */
  isId: (id: string) => boolean;
  /** For a list inside another: counts the records that it returns. @throws {ValidationError} if they exceed a limit */
  onReturn?: (count: number) => void;
};

/**
 * Reads a page and the entity tag of its list. Reads no records if the client already has the list with this tag. The
 * tag is empty for the parts that continue a list.
 */
async function readTaggedPage<Node>(
  list: ListReader<Node>,
  page: Page,
  isContinued: boolean,
  matchesKnownTag?: (etag: string) => boolean,
): Promise<{ records: Listed<Node>[]; etag: string }> {
  if (isContinued) return { records: await list.readRecords(page), etag: '' };
  if (matchesKnownTag === undefined) {
    // One statement reads both. An empty page has no record to carry the tag, and is read again below.
    const records = await list.readRecords({ ...page, tagged: true });
    const tag = records[0]?.tag;
    if (typeof tag === 'string') return { records, etag: tag };
  }
  // The tag is read first, so that a change in between cannot combine old records with the new tag.
  const etag = await list.readTag();
  return { records: matchesKnownTag?.(etag) ? [] : await list.readRecords(page), etag };
}

/**
 * Reads the omitted texts of as many records as the share allows, but of at least one. Returns these records, and which
 * part of the list they are: a record that was deleted meanwhile is only in the latter. Before it reads any texts, it
 * calls `admit`, and if that returns false, reads the first texts only.
 * @throws {ValidationError} if not even the first record of a list inside another may be read
 */
async function completeTexts<Node extends ListedRecord>(
  { readTexts, isAcrossUsers }: RecordReader<Node>,
  records: readonly Listed<Node>[],
  { bytes: maxBytes, isNested = false }: Pick<ByteShare, 'bytes' | 'isNested'>,
  admit: (bytes: number) => Promise<boolean>,
): Promise<{ complete: Listed<Node>[]; scanned: Listed<Node>[] }> {
  const isOmitted = ({ omittedBytes }: Listed<Node>) => omittedBytes != null;
  if (!records.some(isOmitted)) return { complete: [...records], scanned: [...records] };
  const allowed = takeBytes(records, maxBytes, isNested);
  const bytes = allowed.reduce((sum, { omittedBytes }) => sum + (omittedBytes ?? 0), 0);
  const scanned = (await admit(bytes)) ? allowed : takeBytes(records, 0, isNested);
  if (scanned.length === 0) {
    const message = 'has a record that is too large for a list inside another: query the user by `user(id:)`';
    throw new ValidationError([{ path: [], message, value: null }]);
  }
  const keyOf = ({ id, userId }: { id: string; userId?: string | undefined }) =>
    isAcrossUsers ? `${userId}\n${id}` : id;
  const omitted = scanned.filter(isOmitted);
  const [ids, users] = [omitted.map(({ id }) => id), omitted.map(({ userId = '' }) => userId)];
  const found = ids.length > 0 ? await readTexts(ids, users) : [];
  const texts = new Map(found.map((text) => [keyOf(text), text]));
  const complete = scanned.flatMap((record) => {
    if (!isOmitted(record)) return [record];
    const text = texts.get(keyOf(record));
    return text === undefined ? [] : [{ ...record, ...text }];
  });
  return { complete, scanned };
}

/** Reads the first of at most `limit` records, as many as the share allows. */
export async function readWithinShare<Node extends ListedRecord>(
  reader: RecordReader<Node>,
  page: Page & { limit: number },
): Promise<Node[]> {
  const { share, admitLargeRead } = reader;
  const inlineBytes = Math.floor(share.inlineBytes / page.limit);
  const records = await reader.readRecords({ ...page, inlineBytes });
  const { complete } = await completeTexts(reader, records, share, admitLargeRead);
  return complete;
}

/**
 * Returns the first records whose omitted texts have at most `maxBytes` together, but at least one unless the list is
 * inside another.
 */
function takeBytes<Node>(
  records: readonly Listed<Node>[],
  maxBytes: number,
  isNested: boolean,
): Listed<Node>[] {
  let bytes = 0;
  const end = records.findIndex(({ omittedBytes }, index) => {
    bytes += omittedBytes ?? 0;
    return omittedBytes != null && bytes > maxBytes && (isNested || index > 0);
  });
  return records.slice(0, end === -1 ? records.length : end);
}

/** The maximum number of records of a part of a REST list, and the maximum size of their long texts. */
const PART_RECORDS = 250;
const PART_BYTES = 1024 * 1024;

/** The maximum number of records that a part of a filtered whole list scans, so that no statement takes long. */
const PART_SCAN_LIMIT = 10_000;

/** Records with more long text than this are read by a second statement. */
const INLINE_BYTES = Math.floor(PART_BYTES / PART_RECORDS);

/** Reads the next part of a REST list, and replaces `next` and, with the first part, `etag` and `end`. */
async function readRestPart<Node extends ListedRecord>(
  list: ListReader<Node>,
  restList: RestList,
  matchesKnownTag?: (etag: string) => boolean,
): Promise<Node[]> {
  const { page, isContinued } = restList;
  const { limit = Number.POSITIVE_INFINITY } = page;
  // One record more shows whether others follow a short page.
  const size = Math.min(limit + 1, PART_RECORDS);
  const part = { ...page, limit: size, inlineBytes: INLINE_BYTES, isLong: isContinued || mayBeLong(page) };
  // Pages have exactly `limit` records, and `offset` counts records that match.
  const isWhole = page.limit === undefined && page.offset === undefined;
  const { records: found, etag } = await readTaggedPage(
    list,
    isWhole ? { ...part, scanLimit: PART_SCAN_LIMIT } : part,
    isContinued,
    matchesKnownTag,
  );
  const records = found.slice(0, limit);
  if (!isContinued) restList.etag = etag;
  const mayBeCut = !isContinued && page.limit !== undefined && found.length === size;
  const [end, following] = mayBeCut ? await readCut(list, page, found) : [];
  if (end && following) restList.end = positionOf(end);
  const { complete, scanned } = await completeTexts(list, records, { bytes: PART_BYTES }, async () => true);
  const last = scanned.at(-1);
  const isListEnd = found.length < size && found.at(-1)?.isScanEnd !== true;
  const isComplete = scanned.length === records.length && (scanned.length === limit || isListEnd);
  // What follows the page was read before: records that are deleted meanwhile do not move its end.
  const rest = following
    ? { before: positionOf(following) }
    : { before: page.before, limit: page.limit && page.limit - scanned.length };
  restList.next = isComplete || last === undefined ? undefined : { ...rest, after: positionOf(last) };
  return complete.filter(({ isMatch }) => isMatch !== false);
}

/** Returns the last record of a page and the one that follows it, which is among the first records of the page or read. */
async function readCut<Node>(
  list: ListReader<Node>,
  { limit = 1, offset = 0, ...page }: Page,
  found: readonly Listed<Node>[],
): Promise<readonly Listed<Node>[]> {
  if (found.length > limit) return found.slice(limit - 1);
  return list.readRecords({ ...page, offset: offset + limit - 1, limit: 2, inlineBytes: 0, isLong: true });
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
      : ` If conditions are checked for each record, the newest ${maxChecked} ${records} are, an equal part of them of each kind or given user, so that the number may be too low.`;
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
