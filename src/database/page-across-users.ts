import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Position } from '../values/cursor.ts';
import type { Tables } from './database.ts';
import { limitToPeriod, MAX_COUNT, type Page, type Period } from './page.ts';

/*
 * A list across users consists of branches, for example one for each status of workspaces. An index finds the records of a
 * branch in the order of the list, and each record is in one branch. A page merges the newest records of each branch.
 */

/** Which records of a table are listed across users. */
export type ListAcrossUsers<Table> = Period & {
  table: Table;
  /** The values of the branches. */
  branches: readonly string[];
  /** The condition by which an index finds the records of a branch in the order of the list; {@link branchValue} is its value. */
  range: RawBuilder<boolean>;
  /** The conditions that are checked for each record of the range; `undefined` if there are none. */
  matches: RawBuilder<boolean> | undefined;
  /** The property that identifies a record among those of its user. Defaults to `id`. */
  id?: string;
};

/** The value of the current branch. */
export const branchValue: RawBuilder<string> = sql`branch.value`;

/** The part of a list that a page scans: the positions between which records are, and how many of each branch. */
export type Scan = Pick<Page, 'after' | 'before'> & { limit: number; branchLimit: number };

/**
 * Returns what a page scans of a list.
 * @param isChecked whether conditions are checked for each record. All branches together then scan as many records as the
 *   page allows
 */
export function toScan(
  page: Page,
  list: ListAcrossUsers<string>,
  isChecked: boolean = list.matches !== undefined,
): Scan {
  const { limit = 0, scanLimit = limit } = page;
  const { after, before } = limitToPeriod(page, list, { userId: '', id: '' });
  const branchLimit = isChecked ? Math.ceil(scanLimit / Math.max(1, list.branches.length)) : limit;
  return { after, before, limit, branchLimit };
}

/** Lists what a list across users is sorted by. */
const listKey = (id = 'id') => ['createdAt', 'userId', id].map((name) => sql.ref(name));

const sortNewestFirst = (id?: string): RawBuilder<unknown> =>
  sql.join(listKey(id).map((column) => sql`${column} desc`));

/** Sorts records of a list across users, newest first. */
export const newestFirst = sortNewestFirst();

/** Formats a position for a comparison. */
export const toRow = ({ createdAt, userId, id }: Position): RawBuilder<unknown> =>
  sql`(${createdAt}, ${userId}, ${id})`;

/** Whether a record is between the positions of a page, both exclusive. */
function isBetween({ after, before }: Scan, id?: string): RawBuilder<boolean> {
  const row = sql`(${sql.join(listKey(id))})`;
  const isAfter = after ? sql`${row} < ${toRow(after)}` : sql`true`;
  const isBefore = before ? sql`${row} > ${toRow(before)}` : sql`true`;
  return sql`${isAfter} and ${isBefore}`;
}

/**
 * Scans the branches for a page, with `isMatch` and `isScanEnd` as in `selectPages`: the first record at which the
 * scan of a branch ended is the last one, because older records of that branch are unknown.
 */
export function scanBranches(
  { table, branches, range, matches, id }: ListAcrossUsers<string>,
  scan: Scan,
  isInBounds: RawBuilder<boolean> = isBetween(scan, id),
): RawBuilder<unknown> {
  const order = sortNewestFirst(id);
  const [createdAt, userId, idColumn] = listKey(id);
  return sql`(
    select * from (
      select *, bool_or("isScanEnd") over (
        order by ${newestFirst} rows between unbounded preceding and 1 preceding) as "isUnknown"
      from (
        select found.*, found.position = ${scan.branchLimit} as "isScanEnd"
        from unnest(${branches}::text[]) as branch (value)
        cross join lateral (
          select ${createdAt}, ${userId}, ${idColumn} as id, ${matches ?? sql`true`} as "isMatch",
            row_number() over (order by ${order}) as position
          from ${sql.table(table)} where ${range} and ${isInBounds}
          order by ${order} limit ${scan.branchLimit}) as found
      ) as scanned
    ) as known where "isUnknown" is not true)`;
}

/** Selects from the records of a page of a list across users, as `page`, with the given properties. */
export function selectPageAcrossUsers<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  list: ListAcrossUsers<Table>,
  page: Page,
  properties: readonly (string & keyof Tables[Table])[],
) {
  const scan = toScan(page, list);
  const columns = properties.map((property) => sql.ref(property));
  const isSame = sql`${sql.ref('list.userId')} = ${sql.ref('keys.userId')}
    and ${sql.ref(`list.${list.id ?? 'id'}`)} = keys.id`;
  // `limit 1` makes PostgreSQL look each record up. It overestimates their number, and would scan the whole table.
  const found = sql<Tables[Table] & { isMatch: boolean; isScanEnd: boolean }>`(
    select list.*, keys.id as position, keys."isMatch", keys."isScanEnd"
    from (
      select * from ${scanBranches(list, scan)} as scanned where "isMatch" or "isScanEnd"
      order by ${newestFirst} limit ${scan.limit}) as keys
    cross join lateral (
      select ${sql.join(columns)} from ${sql.table(list.table)} as list where ${isSame} limit 1) as list)`;
  return db
    .selectFrom(found.as('page'))
    .select(['isMatch', 'isScanEnd'])
    .orderBy(sortNewestFirst('position'));
}

/** Returns the page of a count, up to {@link MAX_COUNT} and of at most so many checked records. */
export const toCountPage = (maxChecked: number): Page => ({ limit: MAX_COUNT, scanLimit: maxChecked });

/** Counts records of a list across users, up to {@link MAX_COUNT}. */
export async function countAcrossUsers<Table extends string & keyof Tables>(
  db: Kysely<Tables>,
  list: ListAcrossUsers<Table>,
  maxChecked: number,
): Promise<number> {
  const { table, branches, range, matches, id } = list;
  const scan = toScan(toCountPage(maxChecked), list);
  const limited = sql`(select ${matches ?? sql`true`} as "isMatch"
    from ${sql.table(table)} where ${range} and ${isBetween(scan, id)}
    order by ${sortNewestFirst(id)} limit ${scan.branchLimit})`;
  const counted = sql<{ isMatch: boolean }>`(
    select from unnest(${branches}::text[]) as branch (value) cross join lateral ${limited} as found
    where found."isMatch" limit ${scan.limit})`;
  const { count } = await db
    .selectFrom(counted.as('counted'))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
