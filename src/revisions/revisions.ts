import { type Kysely, type RawBuilder, sql } from 'kysely';
import { defineBatchedRead } from '../database/batched-read.ts';
import type { Database, Tables } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import type { UserRevision } from './revisions.entity.ts';

/**
 * A user's revisions: one for notifications, one for workspaces, and one for the editor credential. A change of a record
 * increments the revision of its kind. Revisions can be compared only within an epoch, which combines the epochs of the
 * database and of the user. The deletion of a user deletes the revisions; the next change of the user begins a new
 * epoch, with revisions from 0. A new epoch also begins when an operator renews the database's epoch after a restore.
 */
export type Revisions = Pick<UserRevision, 'epoch' | 'notifications' | 'workspaces' | 'editorAuth'>;

/** The epochs of the database and of the user, for a query of `UserRevision`. */
export const currentEpoch = sql<string>`(select epoch from ${sql.table('DatabaseEpoch')}) || '.' || epoch`;

const find = defineListRead((db, { param }: ReadParams<{ users: readonly string[] }>) =>
  db
    .selectFrom('UserRevision')
    .select(['userId', 'notifications', 'workspaces', 'editorAuth', currentEpoch.as('epoch')])
    .where((eb) => eb('userId', '=', eb.fn.any(param('users', 'text[]')))),
);

/**
 * Finds the revisions of users. A user has none until the first change creates them, and none from a deletion until the
 * next change. A mutation that changes nothing may create them, too.
 */
export async function findRevisionsByUser(
  database: Database,
  users: readonly string[],
): Promise<ReadonlyMap<string, Revisions>> {
  const rows = await find(database, { users });
  return new Map(rows.map(({ userId, ...revisions }) => [userId, revisions]));
}

const findBatched = defineBatchedRead<string, { revisions: Revisions | undefined }>(
  async (database, users) => {
    const found = await findRevisionsByUser(database, users);
    return users.map((user) => ({ revisions: found.get(user) }));
  },
);

/** Finds the revisions of a user; `undefined` if the user has none. */
export async function findRevisions(database: Database, userId: string): Promise<Revisions | undefined> {
  const { revisions } = await findBatched(database, userId);
  return revisions;
}

/** The name of a list that has an entity tag. */
export type ListName = 'notifications' | 'workspaces';

/**
 * Selects the entity tag of a user's list (RFC 9110, section 8.8.3), which changes with every change of a record. A
 * statement that reads the list can select it too, so that both are from one snapshot. `min` returns a row even for an
 * unknown user.
 */
export function selectTag(db: Kysely<Tables>, list: ListName, userId: RawBuilder<string>) {
  const tag = sql`${currentEpoch} || '-' || ${sql.ref(list)}`;
  return db
    .selectFrom('UserRevision')
    .where('userId', '=', userId)
    .select(sql<string>`'"' || coalesce(min(${tag}), '0') || '"'`.as('tag'));
}

/** Reads the entity tag of a user's list. */
export async function readEntityTag(database: Database, userId: string, list: ListName): Promise<string> {
  const revisions = await findRevisions(database, userId);
  return revisions === undefined ? '"0"' : `"${revisions.epoch}-${revisions[list]}"`;
}

/**
 * Increments the user's revision of a list by the number of rows in a common table expression, if it has any. Returns
 * `before`, the revision before the increment. The changed records get the revisions `before + 1`, `before + 2` and so
 * on.
 */
export function incrementRevision(
  db: Pick<Kysely<Tables>, 'updateTable'>,
  list: ListName,
  changed: string,
  userId: RawBuilder<string>,
) {
  const rows = sql.table(changed);
  const revision = sql.ref<number>(list);
  return db
    .updateTable('UserRevision')
    .set(list, sql<number>`${revision} + (select count(*) from ${rows})`)
    .where('userId', '=', userId)
    .where(sql<boolean>`exists (select from ${rows})`)
    .returning(sql<number>`${revision} - (select count(*) from ${rows})`.as('before'));
}
