import { sql } from 'kysely';
import { defineStatement, type Params, toJsonRows } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
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
  const stored = await transaction(database, [userId], (run) =>
    run(storeNewer, { userId, states: toJsonRows(database, states) }),
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
const storeNewer = defineStatement((db, { param }: Params<{ userId: string; states: string }>) =>
  db
    .with(
      'newer',
      () => sql<{ id: string }>`(
        select state.*
        from json_populate_recordset(null::${workspaces}, ${param('states', 'json')}) with ordinality as state
        left join ${workspaces} as known on ${sql.ref('known.userId')} = ${param('userId')} and known.id = state.id
        left join ${sql.table('WorkspaceDeletion')} as deletion
          on ${sql.ref('deletion.userId')} = ${param('userId')} and deletion.id = state.id
        where ${sql.ref('state.updatedAt')}
          > greatest(${sql.ref('known.updatedAt')}, ${sql.ref('deletion.deletedAt')}) is not false)`,
    )
    .with('incremented', (db) => incrementRevision(db, 'workspaces', 'newer', param('userId')))
    .insertInto('Workspace')
    .columns(['userId', 'revision', ...stateProperties])
    .expression(
      sql`select ${param('userId', 'text')}, incremented.before + row_number() over (order by ordinality),
          ${sql.join(stateProperties.map((name) => sql.ref(name)))} from newer, incremented`,
    )
    .onConflict((conflict) =>
      conflict.columns(['userId', 'id']).doUpdateSet((eb) => ({
        revision: eb.ref('excluded.revision'),
        ...Object.fromEntries(changeableProperties.map((name) => [name, eb.ref(`excluded.${name}`)])),
      })),
    )
    .returningAll(),
);
