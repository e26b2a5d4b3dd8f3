import { getKysely } from '../database/database.ts';
import { userTransaction } from '../database/transaction.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import { insertEvent } from '../platform-events/insert-events.ts';
import { UserRevision } from '../revisions/revisions.entity.ts';

/** Whether any data of the user was stored, and whether an editor credential was. */
export type UserDeletion = { deleted: boolean; hadCredential: boolean };

const tables = [
  'Notification',
  'TaskResolution',
  'NotificationPreference',
  'Workspace',
  'WorkspaceDeletion',
  'PushSubscription',
  'Contact',
  'Delivery',
] as const;

/**
 * Deletes all data of a user and ends the user's live streams. One platform event replaces those of the user. Events alone
 * are not data: an earlier deletion wrote one.
 */
export async function deleteUser(
  { database, announce }: ChangeDependencies,
  userId: string,
): Promise<UserDeletion> {
  const deletion = await userTransaction(database.fork(), [userId], async (em) => {
    const { notifications, workspaces, editorAuth } = await em.findOneOrFail(UserRevision, { userId });
    const db = getKysely(em);
    const credential = await db
      .deleteFrom('EditorCredential')
      .where('userId', '=', userId)
      .returning('keyId')
      .executeTakeFirst();
    let deleted = credential !== undefined || notifications + workspaces + editorAuth > 0;
    for (const table of tables) {
      const { numDeletedRows } = await db
        .deleteFrom(table)
        .where('userId', '=', userId)
        .executeTakeFirstOrThrow();
      deleted ||= numDeletedRows > 0;
    }
    await em.nativeDelete(UserRevision, { userId });
    if (deleted) {
      await db.deleteFrom('PlatformEvent').where('userId', '=', userId).execute();
      await insertEvent(em, { type: 'user.deleted', userId });
    }
    return { deleted, hadCredential: credential !== undefined && credential.keyId !== null };
  });
  announce({ user: userId, topic: 'user', revision: 0, hasEvents: deletion.deleted });
  return deletion;
}
