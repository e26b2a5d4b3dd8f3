import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Position } from '../values/cursor.ts';
import type { Time } from '../values/time.ts';
import type { Tables } from './database.ts';
import type { ReadParams } from './read.ts';

/**
 * A part of a list. `limit` defaults to the whole list. With `backwards`, the last records are returned instead of the
 * first, in reverse order. With `tagged`, every record includes the entity tag of the list. With `scanLimit`, a filtered
 * page ends after scanning so many records of the list, even if it is not full. `isPart` marks a part of a long list.
 */
export type Page = {
  after?: Position | undefined;
  before?: Position | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  scanLimit?: number | undefined;
  isPart?: boolean | undefined;
  backwards?: boolean | undefined;
  tagged?: boolean | undefined;
};

/**
 * A record of a list, with the list's entity tag if the page is `tagged`. If `isScanEnd`, the page ended because of its
 * `scanLimit`, and this is the last record that was scanned. Only that record may have `isMatch` false.
 */
export type Listed<Row> = Row & {
  tag?: string | null;
  isMatch?: boolean;
  isScanEnd?: boolean;
};

/** The positions between which records are read, as inputs of a read. */
export type Bounds = {
  afterTime: Time | undefined;
  afterId: string | undefined;
  beforeTime: Time | undefined;
  beforeId: string | undefined;
  afterUser: string | undefined;
  beforeUser: string | undefined;
};

/** A page as inputs of a read. */
export type PageInput = Bounds & {
  limit: number | undefined;
  offset: number | undefined;
  scanLimit: number | undefined;
  isPart: true | undefined;
  backwards: true | undefined;
  tagged: true | undefined;
};

/** Converts a page to inputs. */
export function toPageInput(page: Page): PageInput {
  const { after, before, limit, offset, scanLimit, isPart, backwards, tagged } = page;
  return {
    afterTime: after?.createdAt,
    afterId: after?.id,
    beforeTime: before?.createdAt,
    beforeId: before?.id,
    afterUser: after?.userId,
    beforeUser: before?.userId,
    limit,
    offset,
    scanLimit,
    isPart: isPart || undefined,
    backwards: backwards || undefined,
    tagged: tagged || undefined,
  };
}

/** A period of time. `createdFrom` is inclusive, `createdBefore` exclusive; each may be missing. */
export type Period = { createdFrom?: Time | null | undefined; createdBefore?: Time | null | undefined };

/**
 * Limits a page to the records that were created in a period. Its ends become positions with `lowest`, which is less than
 * every record of the same time. If the page also has a cursor at the same end, only the stricter position is used,
 * because PostgreSQL starts an index scan at one position only.
 */
export function limitToPeriod(
  page: Page,
  { createdFrom, createdBefore }: Period,
  lowest: Omit<Position, 'createdAt'> = { id: '' },
): Page {
  const { after, before } = page;
  // Lists are sorted newest first, so `after` is the upper limit and `before` the lower limit.
  const isAfterStricter = createdBefore == null || (after !== undefined && after.createdAt < createdBefore);
  const isBeforeStricter = createdFrom == null || (before !== undefined && before.createdAt >= createdFrom);
  return {
    ...page,
    after: isAfterStricter ? after : { createdAt: createdBefore, ...lowest },
    before: isBeforeStricter ? before : { createdAt: createdFrom, ...lowest },
  };
}

const createdAt = sql.ref('createdAt');

/** Which records of a table are listed. */
export type Filter<Table> = {
  table: Table;
  /** The condition by which an index finds the records. */
  range: RawBuilder<boolean>;
  /** Whether that index does not contain `createdAt, id`. All records of the range are then read and sorted. */
  isUnsorted?: boolean;
  /** The conditions that are checked for each record of the range; `undefined` if there are none. */
  matches: RawBuilder<boolean> | undefined;
};

/** One of several users whose records a statement reads. */
const owner = sql.ref<string>('owner.id');

/**
 * Selects from the records of a page of each of the users, as `page`. `owner` is the user's ID. `toFilter` creates the
 * filter of a user's records. A filter with `matches` may match few records of its range, or none. With `scanLimit`, only
 * so many records of the range are read, and the last of them is returned even if it does not match, so that the next page
 * can continue there. Without, the page is exact, and its cost has no such limit.
 */
export function selectPages<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  params: ReadParams<PageInput & OneOrMore>,
  toFilter: (userId: RawBuilder<string>) => Filter<Table>,
  properties: readonly (string & keyof Tables[Table])[],
) {
  const { param, has } = params;
  const isOne = has('user');
  const user = isOne ? param('user', 'text') : owner;
  const { page, order, isScanLimited } = buildPage(params, toFilter(user), properties);
  const owners = sql`unnest(${param('users', 'text[]')}) with ordinality as owner (id, position) cross join lateral`;
  const pages = sql<PageRow<Tables[Table]> & { owner: string; position: number }>`(
    select ${user} as owner, ${isOne ? sql`` : sql`owner.position,`} list.*
    from ${isOne ? sql`` : owners} ${page} as list)`;
  return db
    .selectFrom(pages.as('page'))
    .select('owner')
    .$if(isScanLimited, (page) => page.select(['isMatch', 'isScanEnd']))
    .$if(!isOne, (page) => page.orderBy('position'))
    .orderBy(order);
}

/** The maximum of a count that is one of several, or over all users. */
export const MAX_COUNT = 10_000;

/** The users whose records a statement reads, as input of a read. */
export type OfUsers = { users: readonly string[] };

/** The same for a page. For one user, PostgreSQL neither joins nor sorts: a fifth less time for 20 records. */
export type OneOrMore = { user: string | undefined; users: readonly string[] | undefined };

/** The user of a record of a page: for one user, a parameter, so that PostgreSQL evaluates what depends on it once. */
export const ownerOfPage = ({ param, has }: ReadParams<OneOrMore>): RawBuilder<string> =>
  has('user') ? param('user', 'text') : sql.ref<string>('page.owner');

/** The inputs of counts. */
export type CountsInput = OfUsers & { maxCount: number | undefined };

type PageRow<Row> = Row & { isMatch: boolean; isScanEnd: boolean };

function buildPage<Table extends string & keyof Tables>(
  params: ReadParams<PageInput>,
  { table, range, isUnsorted = false, matches }: Filter<Table>,
  properties: readonly (string & keyof Tables[Table])[],
) {
  const { param, has } = params;
  const direction = has('backwards') ? sql`asc` : sql`desc`;
  // No index is sorted by a row value, so PostgreSQL does not search the whole list in order for the range.
  const order = isUnsorted
    ? sql`(${createdAt}, id) ${direction}`
    : sql`${createdAt} ${direction}, id ${direction}`;
  const isInRange = sql<boolean>`${range} and ${isBetween(params)}`;
  const isScanLimited = has('scanLimit') && matches !== undefined && !isUnsorted;
  const scanned = sql`(
    select *, ${matches} as "isMatch", row_number() over (order by ${order}) = ${param('scanLimit')} as "isScanEnd"
    from ${sql.table(table)} where ${isInRange} order by ${order} limit ${param('scanLimit')})`;
  const source = isScanLimited ? scanned : sql.table(table);
  const condition = isScanLimited
    ? sql<boolean>`"isMatch" or "isScanEnd"`
    : sql<boolean>`${isInRange} and ${matches ?? sql`true`}`;
  const columns = properties.map((property) => sql.ref(property));
  if (isScanLimited) columns.push(sql.ref('isMatch'), sql.ref('isScanEnd'));
  const page = sql<PageRow<Tables[Table]>>`(
    select ${sql.join(columns)} from ${source} as list where ${condition} order by ${order}
    ${has('limit') ? sql`limit ${param('limit')}` : sql``} ${has('offset') ? sql`offset ${param('offset')}` : sql``})`;
  return { page, order, isScanLimited };
}

/** Records by their IDs: `users` and `ids` have equal lengths. */
export type KeysInput = OfUsers & { ids: readonly string[] };

/** Whether a record is one of those. `idType` is the type of the column `id`. */
export function isAmong({ param }: ReadParams<KeysInput>, idType: 'text' | 'uuid'): RawBuilder<boolean> {
  return sql`(${sql.ref('userId')}, id) in (
    select * from unnest(${param('users', 'text[]')}, ${param('ids', `${idType}[]`)}))`;
}

/** Counts the records of each of the users that match a filter, at most `maxCount` of each if it is given. */
export function selectCounts<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  params: ReadParams<Bounds & CountsInput>,
  toFilter: (userId: RawBuilder<string>) => Filter<Table>,
) {
  const { table, range, matches = sql`true` } = toFilter(owner);
  const limit = params.has('maxCount') ? sql`limit ${params.param('maxCount')}` : sql``;
  const counts = sql<{ owner: string; count: number }>`(
    select ${owner} as owner,
      (select count(*) from (select from ${sql.table(table)} as list
        where ${range} and ${isBetween(params)} and ${matches} ${limit}) as matching) as count
    from unnest(${params.param('users', 'text[]')}) as owner (id))`;
  return db.selectFrom(counts.as('counts')).select(['owner', 'count']);
}

/**
 * Joins conditions that are checked for each record; `undefined` if there are none. `is true` keeps PostgreSQL from
 * searching an index for them: while a table has no statistics, it could prefer an index of the records of all users.
 */
export function joinConditions(
  conditions: readonly (RawBuilder<boolean> | false)[],
): RawBuilder<boolean> | undefined {
  const given = conditions.filter((condition) => condition !== false);
  return given.length === 0 ? undefined : sql`((${sql.join(given, sql` and `)}) is true)`;
}

/** Whether a record is between two positions, both exclusive. */
function isBetween({ param, has }: ReadParams<Bounds>): RawBuilder<boolean> {
  // Lists are newest first, so after means smaller.
  const isAfter = has('afterId')
    ? sql`(${createdAt}, id) < (${param('afterTime')}, ${param('afterId')})`
    : sql`true`;
  const isBefore = has('beforeId')
    ? sql`(${createdAt}, id) > (${param('beforeTime')}, ${param('beforeId')})`
    : sql`true`;
  return sql`${isAfter} and ${isBefore}`;
}
