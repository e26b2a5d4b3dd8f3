import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';
import { insertPlatformEvents } from '../platform-events/insert-events.ts';

/** The inputs of a change that writes platform events, if no gateway before version 0.3.0 uses the database. */
export type EventInput = { userId: string; isUpgraded: boolean };

/**
 * Inserts a platform event for each notification in a common table expression with `id` and `taskId`, unless its type is
 * null.
 */
export function recordEvents(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { param }: Params<EventInput>,
  from: string,
  type: RawBuilder<string | null>,
) {
  const columns = {
    type,
    userId: param('userId', 'text'),
    notificationId: sql.ref(`${from}.id`),
    taskId: sql.ref(`${from}.taskId`),
    at: sql`clock_timestamp()`,
  };
  const source = sql`from ${sql.table(from)} where ${param('isUpgraded', 'bool')} and ${type} is not null`;
  return insertPlatformEvents(db, columns, source);
}
