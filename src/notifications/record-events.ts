import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';
import { insertPlatformEvents } from '../platform-events/insert-events.ts';

/** The inputs of a change that writes platform events. */
export type EventInput = { userId: string };

/** A common table expression with the properties `id` and `taskId`, and the type of the event of each of its rows. */
type EventSource = [from: string, type: RawBuilder<string | null>];

/** Inserts a platform event for each notification of the sources, in their order, unless its type is null. */
export function recordEvents(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { param }: Params<EventInput>,
  ...sources: readonly EventSource[]
) {
  const rows = sources.map(
    ([from, type]) => sql`select id, ${sql.ref('taskId')}, ${type} as type from ${sql.table(from)}`,
  );
  const columns = {
    type: sql`type`,
    userId: param('userId', 'text'),
    notificationId: sql`id`,
    taskId: sql.ref('taskId'),
    at: sql`clock_timestamp()`,
  };
  const source = sql`from (${sql.join(rows, sql` union all `)}) as changed
    where type is not null`;
  return insertPlatformEvents(db, columns, source);
}
