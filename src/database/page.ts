import { type SelectQueryBuilder, sql } from 'kysely';
import type { Time } from '../time.ts';

/** Where a record stands in a list that is newest first by `createdAt`, then `id`. */
export type Position = { createdAt: Time; id: string };

/** Which part of a list; without `limit` all of it. `backwards` takes the last records instead of the first. */
export type Page = {
  after?: Position | undefined;
  before?: Position | undefined;
  limit?: number | undefined;
  offset?: number | undefined;
  backwards?: boolean | undefined;
};

/** Puts a query of records in the list's order and cuts the page out of it; for the index on (…, created_at, id). */
export function cutPage<Tables, Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  page: Page,
): SelectQueryBuilder<Tables, Table, Row> {
  const { after, before, limit, offset, backwards } = page;
  const direction = backwards ? 'asc' : 'desc';
  return query
    .$if(after !== undefined, (all) =>
      all.where(sql<boolean>`(created_at, id) < (${after?.createdAt}, ${after?.id})`),
    )
    .$if(before !== undefined, (all) =>
      all.where(sql<boolean>`(created_at, id) > (${before?.createdAt}, ${before?.id})`),
    )
    .orderBy(sql`created_at`, direction)
    .orderBy(sql`id`, direction)
    .$if(limit !== undefined, (all) => all.limit(limit ?? 0))
    .$if(offset !== undefined, (all) => all.offset(offset ?? 0));
}
