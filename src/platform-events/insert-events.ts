import { type EntityManager, raw } from '@mikro-orm/postgresql';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Tables } from '../database/database.ts';
import { PlatformEvent } from './platform-event.entity.ts';

/** The columns of an event that a change inserts. Those that are omitted are null. */
export type EventColumns = {
  type: RawBuilder<unknown>;
  userId: RawBuilder<unknown>;
  notificationId?: RawBuilder<unknown>;
  taskId?: RawBuilder<unknown>;
  credentialVersion?: RawBuilder<unknown>;
  at: RawBuilder<unknown>;
};

/**
 * Inserts an event for each row of `source`, a `from` clause, in the transaction of the change. The change must hold the
 * lock of the user, so that the events of a user are in the order of the changes.
 */
export function insertPlatformEvents(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  { type, userId, notificationId, taskId, credentialVersion, at }: EventColumns,
  source: RawBuilder<unknown>,
) {
  const values = [type, userId, notificationId, taskId, credentialVersion, at];
  return db
    .insertInto('PlatformEvent')
    .columns(['type', 'userId', 'notificationId', 'taskId', 'credentialVersion', 'at'])
    .expression(sql`select ${sql.join(values.map((value) => value ?? sql`null`))} ${source}`);
}

/** Inserts an event in the transaction of an entity manager, which must hold the lock of the user. */
export async function insertEvent(
  em: EntityManager,
  event: Pick<PlatformEvent, 'type' | 'userId'> & Partial<Pick<PlatformEvent, 'channel'>>,
): Promise<void> {
  const none = { position: null, notificationId: null, taskId: null, credentialVersion: null, channel: null };
  await em.insert(PlatformEvent, { ...none, ...event, at: raw('clock_timestamp()') });
}

/** Inserts a platform event for each dismissed notification of a common table expression with `id` and `taskId`. */
export function recordDismissals(
  db: Pick<Kysely<Tables>, 'insertInto'>,
  userId: RawBuilder<string>,
  dismissed: string,
) {
  const columns = {
    type: sql`'notification.dismissed'`,
    userId,
    notificationId: sql`id`,
    taskId: sql.ref('taskId'),
    at: sql`clock_timestamp()`,
  };
  return insertPlatformEvents(db, columns, sql`from ${sql.table(dismissed)}`);
}
