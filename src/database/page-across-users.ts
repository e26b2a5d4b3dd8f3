import { type Compilable, type Kysely, type RawBuilder, sql } from 'kysely';
import type { QueryResultRow } from 'pg';
import type { Database, Tables } from './database.ts';
import {
  type Bounds,
  limitToPeriod,
  MAX_COUNT,
  type Page,
  type PageInput,
  type Period,
  toPageInput,
} from './page.ts';
import { defineCount, definePageRead, type ReadParams } from './read.ts';

/*
 * A list across users consists of branches, for example one for each status of workspaces. An index finds the records of a
 * branch in the order of the list, and each record is in one branch. A page merges the newest records of each branch.
 */

/** Which records of a table are listed across users. */
export type BranchFilter<Table> = {
  table: Table;
  /** The condition by which an index finds the records of a branch in the order of the list; `branch.value` is its value. */
  range: RawBuilder<boolean>;
  /** The conditions that are checked for each record of the range; `undefined` if there are none. */
  matches: RawBuilder<boolean> | undefined;
  /** The property that identifies a record among those of its user. Defaults to `id`. */
  id?: string;
};

/** The branches of a list, and how many records of each are scanned, as inputs of a read. */
export type BranchInput = { branches: readonly string[]; branchLimit: number };

/** The value of the current branch. */
export const branchValue: RawBuilder<string> = sql`branch.value`;

/** The branches of a list, the period that it covers, and whether conditions are checked for each record. */
export type Branches = Period & { branches: readonly string[]; isChecked: boolean };

/** Converts a page to inputs. If conditions are checked, all branches together scan as many records as the page allows. */
function toBranchInput(page: Page, { branches, isChecked, ...period }: Branches): PageInput & BranchInput {
  const { limit = 0, scanLimit = limit } = page;
  const branchLimit = isChecked ? Math.ceil(scanLimit / Math.max(1, branches.length)) : limit;
  const limited = limitToPeriod({ ...page, tagged: undefined }, period, { userId: '', id: '' });
  return { ...toPageInput(limited), branches, branchLimit };
}

/** Lists what a list across users is sorted by. */
const listKey = (id = 'id') => ['createdAt', 'userId', id].map((name) => sql.ref(name));

const sortNewestFirst = (id?: string): RawBuilder<unknown> =>
  sql.join(listKey(id).map((column) => sql`${column} desc`));

/** Sorts records of a list across users, newest first. */
export const newestFirst = sortNewestFirst();

/** Whether a record is between the positions of a page, both exclusive. */
function isBetween({ param, has }: ReadParams<Bounds>, id?: string): RawBuilder<boolean> {
  const row = sql`(${sql.join(listKey(id))})`;
  const isAfter = has('afterId')
    ? sql`${row} < (${param('afterTime')}, ${param('afterUser')}, ${param('afterId')})`
    : sql`true`;
  const isBefore = has('beforeId')
    ? sql`${row} > (${param('beforeTime')}, ${param('beforeUser')}, ${param('beforeId')})`
    : sql`true`;
  return sql`${isAfter} and ${isBefore}`;
}

/**
 * Scans the branches for a page, with `isMatch` and `isScanEnd` as in {@link selectPages}: the first record at which the
 * scan of a branch ended is the last one, because older records of that branch are unknown.
 */
export function scanBranches(
  params: ReadParams<PageInput & BranchInput>,
  { table, range, matches, id }: BranchFilter<string>,
  isInBounds: RawBuilder<boolean> = isBetween(params, id),
): RawBuilder<unknown> {
  const branchLimit = params.param('branchLimit', 'int');
  const order = sortNewestFirst(id);
  const [createdAt, userId, idColumn] = listKey(id);
  return sql`(
    select * from (
      select *, bool_or("isScanEnd") over (
        order by ${newestFirst} rows between unbounded preceding and 1 preceding) as "isUnknown"
      from (
        select found.*, found.position = ${branchLimit} as "isScanEnd"
        from unnest(${params.param('branches', 'text[]')}) as branch (value)
        cross join lateral (
          select ${createdAt}, ${userId}, ${idColumn} as id, ${matches ?? sql`true`} as "isMatch",
            row_number() over (order by ${order}) as position
          from ${sql.table(table)} where ${range} and ${isInBounds}
          order by ${order} limit ${branchLimit}) as found
      ) as scanned
    ) as known where "isUnknown" is not true)`;
}

/** Selects from the records of a page of a list across users, as `page`, with the given properties. */
export function selectPageAcrossUsers<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  params: ReadParams<PageInput & BranchInput>,
  filter: BranchFilter<Table>,
  properties: readonly (string & keyof Tables[Table])[],
) {
  const columns = properties.map((property) => sql.ref(property));
  const table = sql.table(filter.table);
  const isSame = sql`${sql.ref('list.userId')} = ${sql.ref('keys.userId')}
    and ${sql.ref(`list.${filter.id ?? 'id'}`)} = keys.id`;
  // `limit 1` makes PostgreSQL look each record up. It overestimates their number, and would scan the whole table.
  const page = sql<Tables[Table] & { isMatch: boolean; isScanEnd: boolean }>`(
    select list.*, keys.id as position, keys."isMatch", keys."isScanEnd"
    from (
      select * from ${scanBranches(params, filter)} as scanned where "isMatch" or "isScanEnd"
      order by ${newestFirst} limit ${params.param('limit')}) as keys
    cross join lateral (select ${sql.join(columns)} from ${table} as list where ${isSame} limit 1) as list)`;
  return db.selectFrom(page.as('page')).select(['isMatch', 'isScanEnd']).orderBy(sortNewestFirst('position'));
}

/** Counts records of a list across users. */
export function selectCountAcrossUsers<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  params: ReadParams<PageInput & BranchInput>,
  { table, range, matches, id }: BranchFilter<Table>,
) {
  const records = sql`${sql.table(table)} where ${range} and ${isBetween(params, id)}`;
  const limited = sql`(select ${matches ?? sql`true`} as "isMatch" from ${records}
    order by ${sortNewestFirst(id)} limit ${params.param('branchLimit', 'int')})`;
  const counted = sql<{ isMatch: boolean }>`(
    select from unnest(${params.param('branches', 'text[]')}) as branch (value) cross join lateral ${limited} as found
    where found."isMatch" limit ${params.param('limit', 'int')})`;
  return db.selectFrom(counted.as('counted')).select((eb) => eb.fn.countAll<number>().as('count'));
}

/** What a list across users is read by. `Input` is what its filter becomes. */
type ListAcrossUsers<Filter, Input, Row> = {
  toInput(filter: Filter, page: Page): { input: Input; branches: Branches };
  selectPage(db: Kysely<Tables>, params: ReadParams<Input & PageInput & BranchInput>): Compilable<Row>;
  selectCount(
    db: Kysely<Tables>,
    params: ReadParams<Input & PageInput & BranchInput>,
  ): Compilable<{ count: number }>;
  /** How many records a count checks at most, if conditions are checked for each. */
  maxChecked: number;
};

/** Defines a list across users. */
export function defineListAcrossUsers<Filter, Input extends object, Row extends QueryResultRow>({
  toInput,
  selectPage,
  selectCount,
  maxChecked,
}: ListAcrossUsers<Filter, Input, Row>) {
  const readPage = definePageRead(selectPage, () => true);
  const readCount = defineCount(selectCount);
  const toPage = (filter: Filter, page: Page) => {
    const { input, branches } = toInput(filter, page);
    return { ...input, ...toBranchInput(page, branches) };
  };
  return {
    maxChecked,
    /** Lists records, newest first. */
    list: (database: Database, filter: Filter, page: Page, selected?: ReadonlySet<string>): Promise<Row[]> =>
      readPage(database, toPage(filter, page), selected),
    /** Counts records, up to {@link MAX_COUNT}. */
    count: (database: Database, filter: Filter): Promise<number> =>
      readCount(database, toPage(filter, { limit: MAX_COUNT, scanLimit: maxChecked })),
  };
}
