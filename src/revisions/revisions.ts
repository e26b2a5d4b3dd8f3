import { type Kysely, type RawBuilder, sql } from 'kysely';
import { batchReads } from '../database/batch-reads.ts';
import type { EntityManager, Tables } from '../database/database.ts';
import { type Inputs, readList, readOne } from '../database/read.ts';
import type { UserRevision } from './user-revision.entity.ts';

/** A user's revisions. They count from 0 in each epoch; a new epoch begins when the user is deleted or the database restored. */
export type Revisions = Pick<UserRevision, 'epoch' | 'notifications' | 'workspaces' | 'editorAuth'>;

/** The database's epoch and the user's, in a query of `UserRevision`. */
export const currentEpoch = sql<string>`(select epoch from database_epoch) || '.' || epoch`;

const find = readList((db, { slot }: Inputs<{ users: readonly string[] }>) =>
  db
    .selectFrom('UserRevision')
    .select(['userId', 'notifications', 'workspaces', 'editorAuth', currentEpoch.as('epoch')])
    .where('userId', '=', sql<string>`any(${slot('users')}::text[])`),
);

/** Finds the revisions of users. A user without any changes has none. */
export async function findRevisions(
  em: EntityManager,
  users: readonly string[],
): Promise<ReadonlyMap<string, Revisions>> {
  const rows = await find(em, { users });
  return new Map(rows.map(({ userId, ...revisions }) => [userId, revisions]));
}

const findTogether = batchReads<string, { revisions: Revisions | undefined }>(async (em, users) => {
  const found = await findRevisions(em, users);
  return users.map((user) => ({ revisions: found.get(user) }));
});

/** Finds the revisions of a user; undefined for a user without any changes. */
export async function findRevision(em: EntityManager, userId: string): Promise<Revisions | undefined> {
  const { revisions } = await findTogether(em, userId);
  return revisions;
}

/** The lists with a revision, and so with an entity tag. */
export type TaggedList = 'notifications' | 'workspaces';

/**
 * The entity tag of a user's list (RFC 9110, section 8.8.3), which changes with every change. A statement that reads the
 * list may select it too, so that both come from one snapshot.
 */
export function selectTag(db: Kysely<Tables>, of: TaggedList, userId: RawBuilder<string>) {
  const tag = sql`${currentEpoch} || '-' || ${sql.ref(of)}`;
  return db
    .selectFrom('UserRevision')
    .where('userId', '=', userId)
    .select(sql<string>`'"' || coalesce(min(${tag}), '0') || '"'`.as('tag'));
}

const findTag = {
  notifications: readTag('notifications'),
  workspaces: readTag('workspaces'),
};

function readTag(of: TaggedList) {
  return readOne((db, { slot }: Inputs<{ userId: string }>) => selectTag(db, of, slot('userId')));
}

/** Reads the entity tag of a user's list. */
export async function entityTag(em: EntityManager, userId: string, of: TaggedList): Promise<string> {
  const found = await findTag[of](em, { userId });
  if (found === undefined) throw new Error('An aggregate always has a row.');
  return found.tag;
}
