import { type EntityManager, query } from '../database/database.ts';
import { lockUser } from '../revisions/revisions.ts';

/** Whether anything was stored of a user, and whether a credential was. */
export type UserDeletion = { deleted: boolean; hadCredential: boolean };

/** Deletes everything that is stored of a user. Their live subscriptions end when it is committed. */
export async function deleteUser(em: EntityManager, userId: string): Promise<UserDeletion> {
  return em.transactional(async (em) => {
    const { notifications, workspaces } = await lockUser(em, userId);
    const credential = await query(em)
      .deleteFrom('EditorCredential')
      .where('userId', '=', userId)
      .returning('keyId')
      .executeTakeFirst();
    const tables = ['Notification', 'Preference', 'Workspace', 'WorkspaceDeletion'] as const;
    let removed = credential === undefined ? 0n : 1n;
    for (const table of [...tables, 'UserRevision'] as const) {
      const { numDeletedRows } = await query(em)
        .deleteFrom(table)
        .where('userId', '=', userId)
        .executeTakeFirstOrThrow();
      if (table !== 'UserRevision') removed += numDeletedRows;
    }
    return {
      deleted: removed > 0n || notifications > 0 || workspaces > 0,
      hadCredential: credential !== undefined && credential.keyId !== null,
    };
  });
}
