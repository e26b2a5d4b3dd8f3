import { type RawBuilder, sql } from 'kysely';

/** Records of a batch at most. */
export const BATCH_RECORDS = 100;

/** A batch ends with the record that brings it to so many bytes of text. */
const BATCH_BYTES = 65_536;

/** Behind which revision of which user a stream reads on. */
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
 * The part of a table's changes that each place reads next, as a row source with the columns `place`, `owner`, `after`
 * and `last`, the revision that the batch ends with. A stream holds a batch until its client has taken it, so that what
 * clients that do not read cost is bounded by bytes. `texts` are the columns of unlimited length that are read.
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

/** Whether a record belongs to a batch of {@link batches}, which is joined as `batch`. */
export const isInBatch = sql<boolean>`user_id = batch.owner and revision > batch.after and revision <= batch.last`;
