import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';

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
