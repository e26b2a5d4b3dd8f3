import { sql } from 'kysely';
import {
  changeUser,
  type Guard,
  guardOf,
  isGuarded,
  isNew,
  type KnownUser,
  moveRevisions,
} from '../database/change-user.ts';
import type { Database } from '../database/database.ts';
import { type Bound, defineStatement, defineVariants, type Params } from '../database/statement.ts';
import type { ChangeDependencies } from '../live/announcer.ts';
import { insertPlatformEvents } from '../platform-events/insert-events.ts';
import { latest, type Time } from '../values/time.ts';
import {
  type CredentialChange,
  type CredentialState,
  noCredential,
  stateProperties,
} from './credential-changes.ts';
import type { EditorCredential } from './editor-credential.entity.ts';

/** Whether a change was stored and wrote an event, the credential after it, and the new revision if clients see it. */
type Changed = {
  isChanged: boolean;
  hasEvents: boolean;
  credential: CredentialState;
  revision?: number | undefined;
};

/** Changes a user's credential: reads, decides by a rule, stores, and announces what clients see. */
export async function changeCredential(
  { database, announce }: ChangeDependencies,
  userId: string,
  rule: (state: CredentialState, at: Time) => CredentialChange | undefined,
): Promise<Changed> {
  const [changed] = await changeUser(database, userId, {
    read: (read) => read(findState, { userId }),
    decide([stored], user) {
      const state = stored ?? noCredential;
      const at = latest(user.at, stored?.updatedAt);
      const change = rule(state, at);
      const credential = { ...state, ...change?.columns };
      const revision = change === undefined || change.isClaim ? undefined : user.editorAuth + 1;
      return {
        changes: change && { ...change, stored, at },
        result: {
          isChanged: change !== undefined,
          hasEvents: change?.event !== undefined,
          credential,
          revision,
        },
      };
    },
    store: ([decided]) => decided?.changes && bindStore(database, decided.user, decided.changes),
  });
  if (changed === undefined) throw new Error('The change of the credential has no result.');
  const { revision, hasEvents } = changed;
  if (revision !== undefined) announce({ user: userId, topic: 'editorAuth', revision, hasEvents });
  return changed;
}

/** Finds what rules know of a user's credential. */
export const findState = defineStatement((db, { param }: Params<{ userId: string }>) =>
  db
    .selectFrom('EditorCredential')
    .select([...stateProperties, 'updatedAt'])
    .where('userId', '=', param('userId')),
);

type Columns = CredentialChange['columns'] & Partial<Pick<EditorCredential, 'createdAt' | 'updatedAt'>>;

/** The guard, the columns that change, the event with its version, and the end of the claim that another one replaces. */
type Input = Guard &
  Columns & { userId: string } & Pick<CredentialChange, 'event'> & {
    version: string;
    replacedUntil: Time | null;
  };

/** What a statement depends on, besides the columns. */
const shapes = ['isNewUser', 'isNewRow', 'isClaim'] as const;

/** A change of a stored credential, or of none, and its time. */
type StoredChange = CredentialChange & { stored: CredentialState | undefined; at: Time };

function bindStore(
  database: Database,
  user: KnownUser,
  { columns, event, isClaim = false, stored, at }: StoredChange,
): Bound<{ isStored: boolean }> {
  const { version, claimedUntil } = stored ?? noCredential;
  const guard = guardOf('editorAuth', [[user, isClaim ? 0 : 1]]);
  const times = { ...(!isClaim && { updatedAt: at }), ...(!stored && { createdAt: at }) };
  const given: Columns = { ...columns, ...times };
  const shape = { isNewUser: isNew(guard), isNewRow: !stored, isClaim };
  const variant = store([...shapes.filter((name) => shape[name]), ...Object.keys(given)]);
  return variant(database, {
    version,
    ...given,
    ...guard,
    userId: user.userId,
    event,
    replacedUntil: claimedUntil,
  });
}

/**
 * The statement that stores columns, and an event if one is given, if the user's revision is the one that was read.
 * A claim does not move the revision, after which `accountEvents` would send a status that has not changed. Instead, the
 * statement compares the end of the claim that it replaces, because only claims read claims.
 */
const store = defineVariants<string, Input, { isStored: boolean }>(
  (db, params: Params<Input & Record<string, unknown>>, parts) => {
    const names = parts.filter((part) => !shapes.some((name) => name === part));
    const { param } = params;
    const table = sql.table('EditorCredential');
    const user = param('userId', 'text');
    const columns = sql.join(names.map((name) => sql.ref(name)));
    const values = sql.join(names.map((name) => param(name)));
    const isReplaced = sql`and ${sql.ref('claimedUntil')} is not distinct from ${param('replacedUntil', 'timestamptz')}`;
    const stored = parts.includes('isNewRow')
      ? sql`insert into ${table} (${sql.ref('userId')}, ${columns}) select ${user}, ${values} where ${isGuarded}`
      : sql`update ${table} set (${columns}) = row(${values})
          where ${sql.ref('userId')} = ${user} ${parts.includes('isClaim') ? isReplaced : sql``} and ${isGuarded}`;
    const insertEvent = insertPlatformEvents(
      db,
      { type: param('event'), userId: user, credentialVersion: param('version'), at: param('updatedAt') },
      sql`from stored where ${param('event', 'text')} is not null`,
    );
    const query = sql<{
      isStored: boolean;
    }>`with guard as (${moveRevisions(params, 'editorAuth', parts.includes('isNewUser'))}),
      stored as (${stored} returning 1), event as (${insertEvent}) select exists (select from stored) as "isStored"`;
    return { compile: () => query.compile(db) };
  },
);
