import { sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import type { ChangeDependencies } from '../live/announcer.ts';

/** Whether any data of the user was stored, and whether an editor credential was. */
export type UserDeletion = { deleted: boolean; hadCredential: boolean };

/** Deletes all data of a user and ends the user's live streams. */
export async function deleteUser(
  { database, announce }: ChangeDependencies,
  userId: string,
): Promise<UserDeletion> {
  const [credentials, revisions, ...others] = await transaction(database, [userId], (run) =>
    Promise.all([
      run(deleteCredential, { userId }),
      run(deleteRevisions, { userId }),
      ...deleteStatements.map((deleteOfTable) => run(deleteOfTable, { userId })),
    ]),
  );
  announce({ user: userId, topic: 'user', revision: 0 });
  return {
    deleted: [credentials, ...others].some((rows) => rows.length > 0) || revisions.some(({ sum }) => sum > 0),
    hadCredential: credentials.some(({ keyId }) => keyId !== null),
  };
}

type UserParams = Params<{ userId: string }>;

const deleteCredential = defineStatement((db, { param }: UserParams) =>
  db.deleteFrom('EditorCredential').where('userId', '=', param('userId')).returning('keyId'),
);

/** Returns the number of changes of notifications, workspaces and the credential. */
const deleteRevisions = defineStatement((db, { param }: UserParams) =>
  db
    .deleteFrom('UserRevision')
    .where('userId', '=', param('userId'))
    .returning(sql<number>`notifications + workspaces + ${sql.ref('editorAuth')}`.as('sum')),
);

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

/** Each statement deletes the user's rows of one table, and returns one row if it deleted any. */
const deleteStatements = tables.map((table) =>
  defineStatement((db, { param }: UserParams) =>
    db
      .with('deleted', (db) =>
        db.deleteFrom(table).where('userId', '=', param('userId')).returning(sql<number>`1`.as('row')),
      )
      .selectFrom('deleted')
      .select('row as deleted')
      .limit(1),
  ),
);
