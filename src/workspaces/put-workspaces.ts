import { type Kysely, sql } from 'kysely';
import { getKysely, type Tables } from '../database/database.ts';
import { toJsonRows } from '../database/statement.ts';
import { userTransaction } from '../database/transaction.ts';
import { announceRecords, type ChangeDependencies } from '../live/announcer.ts';
import { incrementRevision } from '../revisions/revisions.ts';
import type { Workspace } from './workspace.entity.ts';

/** A workspace as the platform reports it. */
export type WorkspaceState = Omit<Workspace, 'userId' | 'revision'>;

/**
 * Stores the states that are newer than the stored state or deletion of their workspace, in one transaction. Returns
 * the workspaces that it stored.
 */
export async function putWorkspaces(
  { database, announce }: ChangeDependencies,
  userId: string,
  states: readonly WorkspaceState[],
): Promise<Workspace[]> {
  const stored = await userTransaction(database.fork(), [userId], (em) =>
    storeNewer(getKysely(em), userId, toJsonRows(database, states)),
  );
  return announceRecords(announce, { user: userId, topic: 'workspaces' }, stored);
}

/** The properties of a state besides its ID. */
const changeableProperties = [
  'projectId',
  'status',
  'cpuKind',
  'cpus',
  'memoryMb',
  'volumeSizeGb',
  'gpuKind',
  'keepActive',
  'machineId',
  'privateIp',
  'gitRef',
  'previewToken',
  'errorMessage',
  'createdAt',
  'updatedAt',
] as const satisfies readonly (keyof WorkspaceState)[];
const stateProperties = ['id', ...changeableProperties] as const;

const workspaces = sql.table('Workspace');

/**
 * Stores the newer states with consecutive revisions, in their order, and updates the user's revision. If the workspace
 * was neither stored nor deleted before, the comparison is null and the state counts as newer.
 */
function storeNewer(db: Kysely<Tables>, userId: string, states: string): Promise<Workspace[]> {
  return db
    .with(
      'newer',
      () => sql<{ id: string }>`(
        select state.*
        from json_populate_recordset(null::${workspaces}, ${states}::json) with ordinality as state
        left join ${workspaces} as known on ${sql.ref('known.userId')} = ${userId} and known.id = state.id
        left join ${sql.table('WorkspaceDeletion')} as deletion
          on ${sql.ref('deletion.userId')} = ${userId} and deletion.id = state.id
        where ${sql.ref('state.updatedAt')}
          > greatest(${sql.ref('known.updatedAt')}, ${sql.ref('deletion.deletedAt')}) is not false)`,
    )
    .with('incremented', (db) => incrementRevision(db, 'workspaces', 'newer', userId))
    .insertInto('Workspace')
    .columns(['userId', 'revision', ...stateProperties])
    .expression(
      sql`select ${userId}::text, incremented.before + row_number() over (order by ordinality),
          ${sql.join(stateProperties.map((name) => sql.ref(name)))} from newer, incremented`,
    )
    .onConflict((conflict) =>
      conflict.columns(['userId', 'id']).doUpdateSet((eb) => ({
        revision: eb.ref('excluded.revision'),
        ...Object.fromEntries(changeableProperties.map((name) => [name, eb.ref(`excluded.${name}`)])),
      })),
    )
    .returningAll()
    .execute();
}
