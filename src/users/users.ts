import { type EntityManager, query } from '../database/database.ts';
import { lockUser } from '../revisions/revisions.ts';

/**
 * Removes everything that is kept of a user, and answers whether there was anything. Their live subscriptions end
 * when it is committed.
 */
export async function deleteUser(em: EntityManager, userId: string): Promise<boolean> {
  return em.transactional(async (em) => {
    const { notifications, workspaces } = await lockUser(em, userId);
    const tables = [
      'Notification',
      'Preference',
      'EditorCredential',
      'Workspace',
      'WorkspaceDeletion',
    ] as const;
    let removed = 0n;
    for (const table of [...tables, 'UserRevision'] as const) {
      const { numDeletedRows } = await query(em)
        .deleteFrom(table)
        .where('userId', '=', userId)
        .executeTakeFirstOrThrow();
      if (table !== 'UserRevision') removed += numDeletedRows;
    }
    return removed > 0n || notifications > 0 || workspaces > 0;
  });
}
