import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import type { Position } from '../values/cursor.ts';
import type { Time } from '../values/time.ts';
import type { Inputs } from './read.ts';

/**
 * Which part of a list; without `limit` all of it. `backwards` takes the last records instead of the first. `tagged`
 * has every record carry the entity tag of the list.
 */
export type Page = {
  after?: Position | undefined;
  before?: Position | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  backwards?: boolean | undefined;
  tagged?: boolean | undefined;
};

/** A record of a list, with the list's entity tag where the page was asked for with tags. */
export type Tagged<Row> = Row & { tag?: string | null };

/** The inputs of {@link readPage}. */
export type PageInput = {
  afterTime: Time | undefined;
  afterId: string | undefined;
  beforeTime: Time | undefined;
  beforeId: string | undefined;
  limit: number | undefined;
  offset: number | undefined;
  backwards: true | undefined;
  tagged: true | undefined;
};

/** A page's inputs. */
export function pageInput({ after, before, limit, offset, backwards, tagged }: Page): PageInput {
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

/** Puts a query of records in the list's order and cuts the page out of it; for the index on (…, created_at, id). */
export function cutPage<Tables, Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  inputs: Inputs<PageInput>,
): SelectQueryBuilder<Tables, Table, Row> {
  const { slot, has } = inputs;
  return inOrder(query, has('backwards'))
    .$if(has('afterId') || has('beforeId'), (all) => all.where(isOnPage(inputs)))
    .$if(has('limit'), (all) => all.limit(slot('limit')))
    .$if(has('offset'), (all) => all.offset(slot('offset')));
}

/** Puts a query of records in the list's order. */
export function inOrder<Tables, Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  isBackwards: boolean,
): SelectQueryBuilder<Tables, Table, Row> {
  const direction = isBackwards ? 'asc' : 'desc';
  return query.orderBy(sql`created_at`, direction).orderBy(sql`id`, direction);
}

/** Where the records of a filtered list are: the combinations of values that match, and the index's columns. */
export type Combinations = {
  /** A row for each combination: `unnest(...) as wanted (kind, status)`. */
  from: RawBuilder<unknown>;
  table: string;
  /** Whether a record belongs to a combination, by the first columns of an index on (…, created_at, id). */
  matches: RawBuilder<unknown>;
};

/**
 * The IDs of a filtered page, as an array. An index has the list's order within one combination of values, so that
 * each is read by itself, no further than the page reaches: a filter that matches nothing reads nothing. `limit` and
 * `offset 0` keep PostgreSQL from joining the other way round, which would read all records of the user.
 */
export function idsOfPage(
  { from, table, matches }: Combinations,
  inputs: Inputs<PageInput>,
): RawBuilder<string[]> {
  const { slot, has } = inputs;
  const order = sql`order by created_at ${direction(has)}, id ${direction(has)}`;
  const limit = has('limit') ? sql`limit ${slot('limit')}` : sql``;
  const offset = has('offset') ? sql`offset ${slot('offset')}` : sql``;
  const reach = has('offset') ? sql`${slot('limit')}::bigint + ${slot('offset')}` : slot('limit');
  return sql`array(
    select id from ${from} cross join lateral (
      select id, created_at from ${sql.table(table)} where ${matches} and ${isOnPage(inputs)}
      ${order} ${has('limit') ? sql`limit ${reach}` : sql`offset 0`}
    ) matching ${order} ${limit} ${offset})`;
}

/** How many records match a filter; from the index alone where it can be. */
export function countMatching({ from, table, matches }: Combinations): RawBuilder<number> {
  return sql`(select count(*) from ${from} cross join lateral (
    select from ${sql.table(table)} where ${matches} offset 0) matching)`;
}

function direction(has: Inputs<PageInput>['has']): RawBuilder<unknown> {
  return has('backwards') ? sql`asc` : sql`desc`;
}

function isOnPage({ slot, has }: Inputs<PageInput>): RawBuilder<boolean> {
  const isAfter = has('afterId')
    ? sql`(created_at, id) < (${slot('afterTime')}, ${slot('afterId')})`
    : sql`true`;
  const isBefore = has('beforeId')
    ? sql`(created_at, id) > (${slot('beforeTime')}, ${slot('beforeId')})`
    : sql`true`;
  return sql`${isAfter} and ${isBefore}`;
}
