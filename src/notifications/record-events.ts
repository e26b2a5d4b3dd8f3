import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';

/** The inputs of a change that the platform is told of, if `recordsEvents`. */
export type EventInput = { userId: string; recordsEvents: boolean };

/**
 * Inserts an event for each notification in a common table expression with `id` and `taskId`, unless its type is null.
 */
export function recordEvents(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { param }: Params<EventInput>,
  from: string,
  type: RawBuilder<string | null>,
) {
  const [id, taskId] = [sql.ref(`${from}.id`), sql.ref(`${from}.taskId`)];
  return db
    .insertInto('PlatformEvent')
    .columns(['userId', 'type', 'notificationId', 'taskId', 'at'])
    .expression(
      sql`select ${param('userId', 'text')}, ${type}, ${id}, ${taskId}, clock_timestamp() from ${sql.table(from)}
        where ${param('recordsEvents', 'bool')} and ${type} is not null`,
    )
    .returning('id');
}
