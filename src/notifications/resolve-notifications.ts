import { type RawBuilder, sql } from 'kysely';
import { defineStatement, type Params } from '../database/statement.ts';
import type { Time } from '../values/time.ts';
import {
  changeNotifications,
  MAX_SETTLED,
  type NotificationDependencies,
  readByIds,
  selectState,
  selectStates,
} from './change-notifications.ts';
import { isUnsettled, settleInOrder, toChanges, withdraw } from './lifecycle.ts';
import { type NotificationKind, notificationKinds, type ResolveReason } from './notification.enums.ts';

/**
 * The notifications to resolve: by ID, of these only those of `ofTask` if it is set, or those of a task. `kinds` defaults
 * to all; `toolId` selects the plans and questions with this tool ID, and `idPrefix` those whose ID begins with it;
 * `occurredUpTo` selects those that occurred at or before it.
 */
export type ResolveFilter =
  | { ids: readonly string[]; ofTask?: string | undefined }
  | {
      taskId: string;
      kinds?: readonly NotificationKind[] | null | undefined;
      toolId?: string | null | undefined;
      idPrefix?: string;
      occurredUpTo?: Time | null | undefined;
    };

/**
 * Resolves the active notifications of a user that match the filter, withdraws their open requests and those of dismissed
 * notifications that match it, and returns the IDs of all that it changed, oldest first. With `occurredUpTo`,
 * notifications that occurred up to then but are published later are resolved too, by publish.ts. Ignores unknown IDs and
 * the IDs of another user's notifications.
 */
export async function resolveNotifications(
  dependencies: NotificationDependencies,
  userId: string,
  filter: ResolveFilter,
  reason: ResolveReason,
): Promise<string[]> {
  const { kinds, occurredUpTo } = 'ids' in filter ? { kinds: [], occurredUpTo: null } : filter;
  const steps = await changeNotifications(dependencies, userId, {
    read: (read) =>
      'ids' in filter
        ? read(readByIds, { userId, ids: filter.ids })
        : read(findOfTask, { userId, ...toTaskInput(filter) }),
    decide(found, moment) {
      const ofTask = 'ids' in filter ? filter.ofTask : undefined;
      const states = found.filter((state) => isUnsettled(state) && (ofTask ?? state.taskId) === state.taskId);
      const resolved = settleInOrder(states.slice(0, MAX_SETTLED), moment, (state, at) =>
        withdraw(state, at, reason),
      );
      const more = states.length > MAX_SETTLED;
      const marks =
        'ids' in filter || !occurredUpTo || more
          ? []
          : [...new Set(kinds ?? notificationKinds)].map((kind) => ({
              taskId: filter.taskId,
              kind,
              resolvedUpTo: occurredUpTo,
              resolution: reason,
              updatedAt: moment.at,
            }));
      return { ...toChanges(resolved), marks, more, result: resolved.map(({ patch }) => patch.id) };
    },
  });
  return steps.flat();
}

type TaskFilter = Exclude<ResolveFilter, { ids: readonly string[] }>;

const toTaskInput = ({ taskId, kinds, toolId = null, idPrefix = '', occurredUpTo = null }: TaskFilter) => ({
  taskId,
  kinds: kinds ?? notificationKinds,
  toolId,
  idPrefix,
  occurredUpTo,
});

const { ref } = sql;
const open = sql`${ref('requestState')} = 'open'`;

/** The open ones and the active ones are found by different indexes. */
const findOfTask = defineStatement(
  (db, { param }: Params<{ userId: string } & ReturnType<typeof toTaskInput>>) => {
    const [toolId, occurredUpTo] = [param('toolId', 'text'), param('occurredUpTo', 'timestamptz')];
    const matches = sql`${ref('userId')} = ${param('userId')} and ${ref('taskId')} = ${param('taskId')}
      and kind = any(${param('kinds', 'text[]')}) and (${toolId} is null or ${ref('toolId')} = ${toolId})
      and starts_with(id, ${param('idPrefix')}) and (${occurredUpTo} is null or ${ref('occurredAt')} <= ${occurredUpTo})`;
    return selectStates(
      db,
      sql`(${selectOfUser(sql`${matches} and ${open} order by ${ref('byTask')}, kind`)})
        union all (${selectOfUser(sql`${matches} and status = 'active' and not ${open} order by kind, slot`)})`,
    )
      .orderBy('createdAt')
      .orderBy('id')
      .limit(sql.lit(MAX_SETTLED + 1));
  },
);

const selectOfUser = (condition: RawBuilder<unknown>) =>
  selectState(sql`${sql.table('Notification')} where ${condition}`);
