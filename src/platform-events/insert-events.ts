import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import type { Params } from '../database/statement.ts';

/** The columns of an event that a change inserts. Those that are omitted are null. */
export type EventColumns = {
  type: RawBuilder<unknown>;
  userId: RawBuilder<unknown>;
  notificationId?: RawBuilder<unknown>;
  taskId?: RawBuilder<unknown>;
  credentialVersion?: RawBuilder<unknown>;
  channel?: RawBuilder<unknown>;
  at: RawBuilder<unknown>;
};

/**
 * Inserts an event for each row of `source`, a `from` clause, or one without it, in the transaction of the change. The change must hold the
 * lock of the user, so that the events of a user are in the order of the changes.
 */
export function insertPlatformEvents(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { type, userId, notificationId, taskId, credentialVersion, channel, at }: EventColumns,
  source = sql``,
) {
  const values = [type, userId, notificationId, taskId, credentialVersion, channel, at];
  return db
    .insertInto('PlatformEvent')
    .columns(['type', 'userId', 'notificationId', 'taskId', 'credentialVersion', 'channel', 'at'])
    .expression(sql`select ${sql.join(values.map((value) => value ?? sql`null`))} ${source}`);
}

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
