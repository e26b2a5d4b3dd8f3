import { type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import type { Params } from '../database/statement.ts';

/** The maximum number of records in a batch. */
export const MAX_BATCH_RECORDS = 100;

/** A batch ends with the record that brings its text to this size. */
const MAX_BATCH_BYTES = 65_536;

/** The position of a stream: a user, and the revision after which it continues. */
export type StreamPosition = { userId: string; after: number };

/** The positions of several streams, as inputs of a statement, and whether the streams select counts. */
export type PositionsInput = {
  users: readonly string[];
  afters: readonly number[];
  counts?: true | undefined;
};

/** Reads the next batches of several streams, as selected by {@link selectInBatches}. */
type ReadBatches<Row> = (
  database: Database,
  input: PositionsInput,
  selected: ReadonlySet<string> | undefined,
) => Promise<readonly Row[]>;

/**
 * Returns a function that reads a stream's next batch, in the order of the changes. {@link defineBatchedRead}
 * combines concurrent calls.
 */
export function defineNextBatchRead<Row>(readBatches: ReadBatches<Row & { stream: number }>) {
  return defineBatchedRead<StreamPosition, Row[]>(async (database, positions, selected) => {
    const users = positions.map(({ userId }) => userId);
    const afters = positions.map(({ after }) => after);
    const batches: Row[][] = positions.map(() => []);
    const counts = (selected?.has('counts') ?? true) || undefined;
    for (const row of await readBatches(database, { users, afters, counts }, selected))
      batches[row.stream - 1]?.push(row);
    return batches;
  });
}

/**
 * Finds, for each stream, the next batch of its user's changed records of an entity. Returns one row per stream: its
 * number (from 1), its owner, `after` (the revision before the batch) and `last` (the last revision in it). A stream
 * keeps a batch in memory until its client has read it, so a batch is limited in size. The size includes only those
 * properties in `texts`, which can hold long text, that are in `selected`. `columns` are further columns of a stream.
 */
export function findBatches(
  entity: string,
  { param }: Params<PositionsInput>,
  texts: readonly string[] = [],
  selected: readonly string[] = [],
  columns = sql``,
): RawBuilder<{ stream: number; owner: string; after: number; last: number }> {
  const long = texts.filter((property) => selected.includes(property)).map((property) => sql.ref(property));
  const kept = sql.join([sql.ref('revision'), ...long]);
  const stored = add(long.map((text) => sql`coalesce(pg_column_size(${text}), 0)`));
  const size = add(long.map((text) => sql`coalesce(octet_length(${text}::text), 0)`));
  const before = sql`over (order by revision rows between unbounded preceding and 1 preceding)`;
  const isWithinLimit = (bytes: string) =>
    sql`${sql.ref(bytes)} is null or ${sql.ref(bytes)} < ${sql.lit(MAX_BATCH_BYTES)}`;
  // `stored_before` and `text_before` are the total sizes of all preceding records, without the record itself. A batch
  // therefore includes the record that exceeds the limit, and is never empty. Converting large JSON to text takes
  // milliseconds, so the records are first limited by their stored size, which PostgreSQL knows without reading the
  // texts. `offset 0` keeps PostgreSQL from computing `last` once for every record that is joined.
  return sql`(
    select stream, owner, after, (
      select max(revision) from (
        select revision, sum(${size}) ${before} as text_before from (
          select ${kept}, sum(${stored}) ${before} as stored_before from (
            select ${kept} from ${sql.table(entity)}
             where ${sql.ref('userId')} = owner and revision > after
             order by revision limit ${sql.lit(MAX_BATCH_RECORDS)}) changed
        ) stored where ${isWithinLimit('stored_before')}
      ) sized where ${isWithinLimit('text_before')}) as last ${columns}
    from unnest(${param('users', 'text[]')}, ${param('afters', 'bigint[]')}) with ordinality
      as positions (owner, after, stream)
    offset 0)`;
}

function add(sizes: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sizes.length === 0 ? sql`0` : sql.join(sizes, sql` + `);
}

/** Limits records to the batches of {@link findBatches}, joined as `batch`, and adds the number of the stream. */
export function selectInBatches<Tables, Table extends keyof Tables, Row>(
  records: SelectQueryBuilder<Tables, Table, Row>,
) {
  return records
    .where(
      sql<boolean>`${sql.ref('userId')} = batch.owner and revision > batch.after and revision <= batch.last`,
    )
    .select(sql<number>`batch.stream`.as('stream'))
    .orderBy(sql`batch.stream`)
    .orderBy(sql`revision`);
}
