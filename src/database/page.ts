import { type SelectQueryBuilder, sql } from 'kysely';
import type { Time } from '../time.ts';
import type { Inputs } from './prepared.ts';

/** Where a record stands in a list that is newest first by `createdAt`, then `id`. */
export type Position = { createdAt: Time; id: string };

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
export type Tagged<Row> = Row & { tag?: string };

/** A page as a prepared statement takes it. */
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

/** A filter by status as a prepared statement takes it. */
export type StatusInput<Status> = { status: Status | undefined; statuses: readonly Status[] | undefined };

/** An index has the order of a list for one status, not for several; an empty list or none is no filter. */
export function statusInput<Status>(given: readonly Status[] | null | undefined): StatusInput<Status> {
  if (given?.length === 1) return { status: given[0], statuses: undefined };
  return { status: undefined, statuses: given?.length ? given : undefined };
}

/** Puts a query of records in the list's order and cuts the page out of it; for the index on (…, created_at, id). */
export function cutPage<Tables, Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { slot, has }: Inputs<PageInput>,
): SelectQueryBuilder<Tables, Table, Row> {
  const direction = has('backwards') ? 'asc' : 'desc';
  return query
    .$if(has('afterId'), (all) =>
      all.where(sql<boolean>`(created_at, id) < (${slot('afterTime')}, ${slot('afterId')})`),
    )
    .$if(has('beforeId'), (all) =>
      all.where(sql<boolean>`(created_at, id) > (${slot('beforeTime')}, ${slot('beforeId')})`),
    )
    .orderBy(sql`created_at`, direction)
    .orderBy(sql`id`, direction)
    .$if(has('limit'), (all) => all.limit(slot('limit')))
    .$if(has('offset'), (all) => all.offset(slot('offset')));
}
