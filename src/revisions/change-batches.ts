import { type RawBuilder, sql } from 'kysely';
import type { Slots } from '../database/statement.ts';

/** The maximum number of records in a batch. */
export const MAX_BATCH_RECORDS = 100;

/** A batch ends with the record that exceeds this size of text. */
const MAX_BATCH_BYTES = 65_536;

/** The position of a stream: a user, and the revision after which it continues. */
export type StreamPosition = { userId: string; after: number };

/** The positions of several streams, as inputs of a statement. */
export type PositionsInput = { users: readonly string[]; afters: readonly number[] };

export function toPositionsInput(positions: readonly StreamPosition[]): PositionsInput {
  return { users: positions.map(({ userId }) => userId), afters: positions.map(({ after }) => after) };
}

/** Groups records by their stream's number, which counts from 1, and keeps their order. */
export function groupByStream<Row extends { stream: number }>(
  rows: readonly Row[],
  positions: readonly StreamPosition[],
): Row[][] {
  const groups: Row[][] = positions.map(() => []);
  for (const row of rows) groups[row.stream - 1]?.push(row);
  return groups;
}

/** The columns of unlimited length in a table, by property. */
export type TextColumns = Readonly<Record<string, string>>;

/**
 * Selects the range of each stream's next batch of changes in a table, with the columns `stream`, `owner`, `after` and
 * `last`, the revision that ends the batch. A stream keeps a batch in memory until its client has read it, so the size
 * of a batch is limited by the bytes of `texts` among the `selected` properties.
 */
export function selectBatches(
  table: string,
  { slot }: Slots<PositionsInput>,
  texts: TextColumns = {},
  selected: readonly string[] = [],
): RawBuilder<{ stream: number; owner: string; after: number; last: number }> {
  const columns = Object.entries(texts).filter(([property]) => selected.includes(property));
  const size =
    columns.length === 0
      ? sql`0`
      : sql`octet_length(row(${sql.join(columns.map(([, column]) => sql.id(column)))})::text)`;
  return sql`(
    select stream, owner, after, (
      select max(revision) from (
        select revision, sum(size) over (order by revision rows between unbounded preceding and 1 preceding) as size
          from (select revision, ${size} as size from ${sql.table(table)}
                 where user_id = owner and revision > after
                 order by revision limit ${sql.lit(MAX_BATCH_RECORDS)}) changed
      ) sized where size is null or size < ${sql.lit(MAX_BATCH_BYTES)}) as last
    from unnest(${slot('users', 'text[]')}, ${slot('afters', 'bigint[]')}) with ordinality
      as positions (owner, after, stream)
    offset 0)`;
}

/** Whether a record belongs to a batch of {@link selectBatches}, joined as `batch`. */
export const isInBatch = sql<boolean>`user_id = batch.owner and revision > batch.after and revision <= batch.last`;
