import { sql } from 'kysely';
import { defineStatement, type Slots } from '../database/statement.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';

/** Whether any data of the user was stored, and whether an editor credential was. */
export type UserDeletion = { deleted: boolean; hadCredential: boolean };

/** Deletes all data of a user and ends the user's live streams. */
export async function deleteUser(
  { database, announce }: ChangeDependencies,
  userId: string,
): Promise<UserDeletion> {
  const [credentials, revisions, ...others] = await change(database, [userId], (run) =>
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

type UserSlots = Slots<{ userId: string }>;

const deleteCredential = defineStatement((db, { slot }: UserSlots) =>
  db.deleteFrom('EditorCredential').where('userId', '=', slot('userId')).returning('keyId'),
);

/** Returns the number of changes of notifications, workspaces and the credential. */
const deleteRevisions = defineStatement((db, { slot }: UserSlots) =>
  db
    .deleteFrom('UserRevision')
    .where('userId', '=', slot('userId'))
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
  defineStatement((db, { slot }: UserSlots) =>
    db
      .with('deleted', (db) =>
        db.deleteFrom(table).where('userId', '=', slot('userId')).returning(sql<number>`1`.as('row')),
      )
      .selectFrom('deleted')
      .select('row as deleted')
      .limit(1),
  ),
);
