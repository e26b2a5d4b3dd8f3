import { sql } from 'kysely';
import { type Slots, statement } from '../database/statement.ts';
import type { Writer } from '../live/announcer.ts';
import { change } from '../revisions/change.ts';

/** Whether anything was stored of a user, and whether a credential was. */
export type UserDeletion = { deleted: boolean; hadCredential: boolean };

/** Deletes everything that is stored of a user, and ends their live subscriptions. */
export async function deleteUser({ em, announce }: Writer, userId: string): Promise<UserDeletion> {
  const [credentials, revisions, ...others] = await change(em, [userId], (run) =>
    Promise.all([
      run(removeCredential, { userId }),
      run(removeRevisions, { userId }),
      ...removals.map((remove) => run(remove, { userId })),
    ]),
  );
  announce({ user: userId, topic: 'user', revision: 0 });
  return {
    deleted: [credentials, ...others].some((rows) => rows.length > 0) || revisions.some(({ sum }) => sum > 0),
    hadCredential: credentials.some(({ keyId }) => keyId !== null),
  };
}

type OfUser = Slots<{ userId: string }>;

const removeCredential = statement((db, { slot }: OfUser) =>
  db.deleteFrom('EditorCredential').where('userId', '=', slot('userId')).returning('keyId'),
);

/** Returns how often anything of the user was changed. */
const removeRevisions = statement((db, { slot }: OfUser) =>
  db
    .deleteFrom('UserRevision')
    .where('userId', '=', slot('userId'))
    .returning(sql<number>`notifications + workspaces + editor_auth`.as('sum')),
);

const tables = [
  'Notification',
  'TaskResolution',
  'NotificationPreference',
  'Workspace',
  'WorkspaceDeletion',
] as const;

/** Each removes the user's rows of one table, and returns one row if there were any. */
const removals = tables.map((table) =>
  statement((db, { slot }: OfUser) =>
    db
      .with('removed', (db) =>
        db.deleteFrom(table).where('userId', '=', slot('userId')).returning(sql<number>`1`.as('row')),
      )
      .selectFrom('removed')
      .select('row as removed')
      .limit(1),
  ),
);
