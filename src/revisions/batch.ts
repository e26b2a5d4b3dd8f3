import { type RawBuilder, sql } from 'kysely';

/** The maximum number of records in a batch. */
export const BATCH_RECORDS = 100;

/** A batch ends with the record that exceeds this size of text. */
const BATCH_BYTES = 65_536;

/** The position of a stream: a user, and the revision after which it continues. */
export type Place = { userId: string; after: number };

/** Places as the inputs of a statement. */
export type PlacesInput = { users: readonly string[]; afters: readonly number[] };

export function placesInput(places: readonly Place[]): PlacesInput {
  return { users: places.map(({ userId }) => userId), afters: places.map(({ after }) => after) };
}

/** Groups records by their place's number, which counts from 1; keeps their order. */
export function byPlace<Row extends { place: number }>(
  rows: readonly Row[],
  places: readonly Place[],
): Row[][] {
  const found: Row[][] = places.map(() => []);
  for (const row of rows) found[row.place - 1]?.push(row);
  return found;
}

/**
 * The next batch of a table's changes for each place, as a row source with the columns `place`, `owner`, `after` and
 * `last`, the revision that the batch ends with. A stream keeps a batch until its client has read it, so a batch is
 * limited in bytes. `texts` are the selected columns of unlimited length.
 */
export function batches(
  table: string,
  { users, afters }: { users: RawBuilder<readonly string[]>; afters: RawBuilder<readonly number[]> },
  texts: readonly string[] = [],
): RawBuilder<{ place: number; owner: string; after: number; last: number }> {
  const columns = sql.join(texts.map((name) => sql.id(name)));
  const size = texts.length === 0 ? sql`0` : sql`octet_length(row(${columns})::text)`;
  return sql`(
    select place, owner, after, (
      select max(revision) from (
        select revision, sum(size) over (order by revision rows between unbounded preceding and 1 preceding) as size
          from (select revision, ${size} as size from ${sql.table(table)}
                 where user_id = owner and revision > after
                 order by revision limit ${sql.lit(BATCH_RECORDS)}) changed
      ) sized where size is null or size < ${sql.lit(BATCH_BYTES)}) as last
    from unnest(${users}::text[], ${afters}::bigint[]) with ordinality as places (owner, after, place)
    offset 0)`;
}

/** Whether a record belongs to a batch of {@link batches}, joined as `batch`. */
export const isInBatch = sql<boolean>`user_id = batch.owner and revision > batch.after and revision <= batch.last`;
