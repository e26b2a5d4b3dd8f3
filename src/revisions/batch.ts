import { type RawBuilder, sql } from 'kysely';

/** Records of a batch at most. */
export const BATCH_RECORDS = 100;

/** A batch ends with the record that brings it to so many bytes of text. */
const BATCH_BYTES = 65_536;

/** Which changes a batch is cut out of: a user's in a table, behind a revision. */
type Changes = { table: string; userId: RawBuilder<string>; after: RawBuilder<number> };

/**
 * The revision that a batch of changes ends with. A stream holds a batch until its client has taken it, so that what
 * clients that do not read cost is bounded by bytes. `texts` are the columns of unlimited length that are read.
 */
export function endOfBatch({ table, userId, after }: Changes, texts: readonly string[]): RawBuilder<number> {
  const size =
    texts.length === 0
      ? sql`0`
      : sql`octet_length(row(${sql.join(texts.map((name) => sql.id(name)))})::text)`;
  return sql`(
    select max(revision) from (
      select revision, sum(size) over (order by revision rows between unbounded preceding and 1 preceding) as size
        from (select revision, ${size} as size from ${sql.table(table)}
               where user_id = ${userId} and revision > ${after}
               order by revision limit ${sql.lit(BATCH_RECORDS)}) changed
    ) sized where size is null or size < ${sql.lit(BATCH_BYTES)})`;
}
