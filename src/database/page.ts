import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Position } from '../values/cursor.ts';
import type { Time } from '../values/time.ts';
import type { ReadParams } from './read.ts';

/**
 * A part of a list. `limit` defaults to the whole list. With `backwards`, the last records are returned instead of the
 * first, in reverse order. With `tagged`, every record includes the entity tag of the list.
 */
export type Page = {
  after?: Position | undefined;
  before?: Position | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  backwards?: boolean | undefined;
  tagged?: boolean | undefined;
};

/** A record of a list, with the list's entity tag if the page is `tagged`. */
export type Tagged<Row> = Row & { tag?: string | null };

/** The positions between which records are read, as inputs of a read. */
export type Bounds = {
  afterTime: Time | undefined;
  afterId: string | undefined;
  beforeTime: Time | undefined;
  beforeId: string | undefined;
};

/** A page as inputs of a read. */
export type PageInput = Bounds & {
  limit: number | undefined;
  offset: number | undefined;
  backwards: true | undefined;
  tagged: true | undefined;
};

/** Converts a page to params. */
export function toPageInput({ after, before, limit, offset, backwards, tagged }: Page): PageInput {
  return {
    afterTime: after?.createdAt,
    afterId: after?.id,
    beforeTime: before?.createdAt,
    beforeId: before?.id,
    limit,
    offset,
    backwards: backwards || undefined,
    tagged: tagged || undefined,
  };
}

const createdAt = sql.ref('createdAt');

/** The combinations of column values that match a filter. */
export type Combinations = {
  /** A row per combination: `unnest(...) as wanted (kind, status)`. */
  from: RawBuilder<unknown>;
  /** The entity. */
  table: string;
  /**
   * The condition that matches a record to a row of `from`. It must compare with `=` every column that precedes
   * `createdAt, id` in an index, so that PostgreSQL can read the matching records from that index in the list's order.
   */
  matches: RawBuilder<unknown>;
};

/** Whether a property equals the input of the same name. Always true if the input is not given. */
export function equalsIfGiven<Input>(
  { param, has }: ReadParams<Input>,
  name: string & keyof Input,
): RawBuilder<boolean> {
  return has(name) ? sql`${sql.ref(name)} = ${param(name)}` : sql`true`;
}

/**
 * Selects a page of records, by an index that contains `createdAt, id`. With `combinations`, only records that match
 * a combination.
 */
export function selectPage<Tables, Table extends keyof Tables, Row>(
  records: SelectQueryBuilder<Tables, Table, Row>,
  params: ReadParams<PageInput>,
  combinations?: Combinations,
): SelectQueryBuilder<Tables, Table, Row> {
  const { param, has } = params;
  const direction = has('backwards') ? 'asc' : 'desc';
  const sorted = records.orderBy(createdAt, direction).orderBy(sql`id`, direction);
  if (combinations) return sorted.where(sql`id`, '=', sql`any(${selectPageIds(combinations, params)})`);
  return sorted
    .$if(has('afterId') || has('beforeId'), (all) => all.where(isBetween(params)))
    .$if(has('limit'), (all) => all.limit(param('limit')))
    .$if(has('offset'), (all) => all.offset(param('offset')));
}

/**
 * Selects the IDs of a filtered page as an array. An index is sorted only within one combination, so each combination
 * is read separately, up to the end of the page. The `limit` or `offset 0` keeps PostgreSQL from merging the lateral
 * subquery into a plain join. Such a join could scan the table first, and so read all records of the user.
 */
function selectPageIds(
  { from, table, matches }: Combinations,
  params: ReadParams<PageInput>,
): RawBuilder<string[]> {
  const { param, has } = params;
  const direction = has('backwards') ? sql`asc` : sql`desc`;
  const order = sql`order by ${createdAt} ${direction}, id ${direction}`;
  const limit = has('limit') ? sql`limit ${param('limit')}` : sql``;
  const offset = has('offset') ? sql`offset ${param('offset')}` : sql``;
  const end = has('offset') ? sql`${param('limit')}::bigint + ${param('offset')}` : param('limit');
  return sql`array(
    select id from ${from} cross join lateral (
      select id, ${createdAt} from ${sql.table(table)} where ${matches} and ${isBetween(params)}
      ${order} ${has('limit') ? sql`limit ${end}` : sql`offset 0`}
    ) matching ${order} ${limit} ${offset})`;
}

/** Counts the records that match a filter, by an index-only scan if possible. */
export function countMatching(
  { from, table, matches }: Combinations,
  isCounted: RawBuilder<boolean> = sql`true`,
): RawBuilder<number> {
  return sql`(select count(*) from ${from} cross join lateral (
    select from ${sql.table(table)} where ${matches} and ${isCounted} offset 0) matching)`;
}

/** Whether a record is between two positions, both exclusive. */
export function isBetween({ param, has }: ReadParams<Bounds>): RawBuilder<boolean> {
  // Lists are newest first, so after means smaller.
  const isAfter = has('afterId')
    ? sql`(${createdAt}, id) < (${param('afterTime')}, ${param('afterId')})`
    : sql`true`;
  const isBefore = has('beforeId')
    ? sql`(${createdAt}, id) > (${param('beforeTime')}, ${param('beforeId')})`
    : sql`true`;
  return sql`${isAfter} and ${isBefore}`;
}
