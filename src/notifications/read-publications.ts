import { type RawBuilder, sql } from 'kysely';
import { defineStatement, defineVariants, type Params } from '../database/statement.ts';
import type { Run } from '../database/transaction.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { requestStates, type StoredRequestState } from './answers/answer.enums.ts';
import { MAX_SETTLED, readWhole, selectState, selectStates } from './change-notifications.ts';
import { listTargets, type Reach } from './channel-decision.ts';
import type { State } from './lifecycle.ts';
import type { Notification } from './notification.entity.ts';
import type { NotificationKind, Resolution } from './notification.enums.ts';
import { isInAnyState } from './notification-filter.ts';
import { type Channels, toChannels } from './preferences/channels.ts';
import type { Draft, Known } from './publish.ts';

type SlotKey = Pick<Draft, 'userId' | 'taskId' | 'kind' | 'slot'>;

/** Identifies a slot. */
export const keyOf = ({ userId, taskId, kind, slot }: SlotKey) =>
  JSON.stringify([userId, taskId, kind, slot]);

/** The states that requests of a kind can have. The index of slots begins with them. */
const statesOf: Readonly<Record<NotificationKind, readonly StoredRequestState[]>> = {
  plan_requested: requestStates.filter((state) => state !== 'none'),
  question_requested: requestStates.filter((state) => state !== 'none'),
  task_failed: ['none'],
  task_response_ready: requestStates,
};

/** What is known of a user to publish drafts. */
export type FoundOfUser = {
  states: readonly State[];
  /** The stored notifications with the IDs of drafts. */
  same: ReadonlyMap<string, Notification>;
  slotOf(draft: SlotKey): Pick<Known, 'newest' | 'mark'>;
  reachOf(kind: NotificationKind): Reach;
};

/** Reads what publishing drafts depends on, for each of their users. */
export async function readKnown(
  read: Run,
  drafts: readonly Draft[],
  providers: ReadonlySet<DeliveryChannel>,
): Promise<(userId: string) => FoundOfUser> {
  const users = [...new Set(drafts.map(({ userId }) => userId))];
  const wanted = toWanted(drafts);
  const parts = stateParts.filter((part) => wanted[part].some(Boolean));
  const requested = [...new Set(drafts.flatMap(({ kind }) => statesOf[kind]))];
  const keys = toKeys(drafts);
  const [found, slots, contacts, subscriptions] = await Promise.all([
    read(findStates(parts), { ...keys, ...wanted }),
    read(findSlots, { ...keys, states: requested }),
    providers.size > 0 ? read(findContacts, { users }) : [],
    providers.has('push') ? read(findSubscriptions, { users }) : [],
  ]);
  const states = Map.groupBy(found, ({ userId }) => userId);
  const given = drafts.filter(({ userId, id }) => states.get(userId)?.some((state) => state.id === id));
  const stored = await Promise.all(given.map(({ userId, id }) => read(readWhole, { userId, id })));
  const same = Map.groupBy(stored.flat(), ({ userId }) => userId);
  const slotsByKey = new Map(slots.map((slot) => [keyOf(slot), slot]));
  const slotsOfUsers = Map.groupBy(slots, ({ userId }) => userId);
  return (userId) => {
    const contact = contacts.find((one) => one.userId === userId);
    const targets = listTargets(
      contact,
      subscriptions.filter((subscription) => subscription.userId === userId),
    );
    return {
      states: new Map(states.get(userId)?.map((state) => [state.id, state])).values().toArray(),
      same: new Map(same.get(userId)?.map((notification) => [notification.id, notification])),
      slotOf(draft) {
        const { newest = null, resolvedUpTo = null, resolution = null } = slotsByKey.get(keyOf(draft)) ?? {};
        return { newest, mark: resolvedUpTo && resolution && { resolvedUpTo, resolution } };
      },
      reachOf(kind) {
        const slot = slotsOfUsers.get(userId)?.find((one) => one.kind === kind);
        return { channels: slot && toChannels(slot), targets };
      },
    };
  };
}

/** Users, tasks, kinds and slots, as arrays of the same length. */
type Keys = {
  users: readonly string[];
  tasks: readonly string[];
  kinds: readonly NotificationKind[];
  slots: readonly string[];
};

const toKeys = (drafts: readonly Draft[]): Keys => ({
  users: drafts.map(({ userId }) => userId),
  tasks: drafts.map(({ taskId }) => taskId),
  kinds: drafts.map(({ kind }) => kind),
  slots: drafts.map(({ slot }) => slot),
});

/** Which notifications are read for a draft. */
const stateParts = ['byId', 'inEverySlot', 'inSlot', 'ofTask'] as const;

/** For each draft, the ID that may be stored, and which other notifications are read, unless an earlier draft reads them. */
type Wanted = Readonly<Record<Exclude<(typeof stateParts)[number], 'byId'>, readonly boolean[]>> & {
  byId: readonly (string | null)[];
};

function toWanted(drafts: readonly Draft[]): Wanted {
  const seen = new Set<string>();
  const isFirst = (...key: readonly string[]) => seen.size < seen.add(JSON.stringify(key)).size;
  return {
    byId: drafts.map(({ given }) => given.id),
    inEverySlot: drafts.map((draft) => draft.everySlot && isFirst(draft.userId, draft.taskId, draft.kind)),
    inSlot: drafts.map(
      (draft) => !draft.everySlot && isFirst(draft.userId, draft.taskId, draft.kind, draft.slot),
    ),
    ofTask: drafts.map((draft) => draft.byTask && isFirst(draft.userId, draft.taskId)),
  };
}

const { ref } = sql;
const notifications = sql.table('Notification');

const keyNames = ['users', 'tasks', 'kinds', 'slots'] as const;

/** The condition that a notification is of the user, task and kind of a key. */
const isOfKey = sql`n.${ref('userId')} = key.owner and n.${ref('taskId')} = key.task and n.kind = key.kind`;

const open = sql`n.${ref('requestState')} = 'open'`;

const selectStored = (condition: RawBuilder<unknown>) =>
  sql`(${selectState(sql`${notifications} as n where ${condition}`)})`;

/** Selects unsettled notifications, the first that occurred first. Different indexes find the open and the active ones. */
const selectUnsettled = (scope: RawBuilder<unknown>) => sql`(
  ${selectStored(sql`${scope} and ${isOfKey} and ${open} order by n.${ref('byTask')}`)} union all
  ${selectStored(sql`${scope} and ${isOfKey} and n.status = 'active' and not ${open} order by n.slot`)}
  order by ${ref('occurredAt')} limit ${sql.lit(MAX_SETTLED + 1)})`;

const ofTask = sql`key.${ref('ofTask')} and n.${ref('userId')} = key.owner and n.${ref('taskId')} = key.task`;

const selectPart: Readonly<Record<(typeof stateParts)[number], RawBuilder<unknown>>> = {
  byId: selectStored(sql`n.${ref('userId')} = key.owner and n.id between key.${ref('byId')} and key.${ref('byId')}
    order by n.id limit 1`),
  inEverySlot: selectUnsettled(sql`key.${ref('inEverySlot')}`),
  inSlot: selectUnsettled(sql`key.${ref('inSlot')} and n.slot = key.slot`),
  // What task tokens published, and all open requests.
  ofTask: sql`(${selectStored(sql`${ofTask} and ${isInAnyState} and n.${ref('byTask')}`)} union all
    ${selectStored(sql`${ofTask} and ${open} and not n.${ref('byTask')} order by n.kind`)})`,
};

/** Finds the notifications that drafts depend on: some twice. */
const findStates = defineVariants<(typeof stateParts)[number], Keys & Wanted, State>(
  (db, { param }, parts) => {
    const given = [
      ...keyNames.map((name) => param(name, 'text[]')),
      ...parts.map((part) => param(part, part === 'byId' ? 'text[]' : 'bool[]')),
    ];
    const names = [sql`owner, task, kind, slot`, ...parts.map((part) => ref(part))];
    const found = sql.join(
      parts.map((part) => selectPart[part]),
      sql` union all `,
    );
    return selectStates(
      db,
      sql`select found.* from unnest(${sql.join(given)}) as key (${sql.join(names)}) cross join lateral (${found}) as found`,
    );
  },
);

type FoundSlot = SlotKey & {
  newest: Time | null;
  resolvedUpTo: Time | null;
  resolution: Resolution | null;
} & { [Name in keyof Channels]: boolean | null };

/** Finds the newest `occurredAt` of slots, by the index of each state; the marks; and the preferences of the kinds. */
const findSlots = defineStatement((db, params: Params<Keys & { states: readonly StoredRequestState[] }>) => {
  const newest = sql`select max(${ref('occurredAt')}) as newest
    from unnest(${params.param('states', 'text[]')}) as given (state) cross join (values (false), (true)) as own (is_own)
    cross join lateral (select n.${ref('occurredAt')} from ${notifications} as n
      where ${isOfKey} and n.${ref('requestState')} = state and n.${ref('byTask')} = is_own and n.slot = key.slot
      order by n.${ref('occurredAt')} desc limit 1) as last`;
  const mark = sql`select n.${ref('resolvedUpTo')}, n.resolution from ${sql.table('TaskResolution')} as n
    where ${isOfKey} limit 1`;
  const channels = (['emailEnabled', 'pushEnabled', 'chatDmEnabled'] as const).map((name) => ref(name));
  const preference = sql`select ${sql.join(channels)} from ${sql.table('NotificationPreference')}
    where ${ref('userId')} = key.owner and ${ref('notificationKind')} = key.kind limit 1`;
  const slots = sql<FoundSlot>`(
    select key.owner as ${ref('userId')}, key.task as ${ref('taskId')}, key.kind, key.slot, newest.*, mark.*, preference.*
    from unnest(${sql.join(keyNames.map((name) => params.param(name, 'text[]')))}) as key (owner, task, kind, slot)
    cross join lateral (${newest}) as newest
    left join lateral (${mark}) as mark on true
    left join lateral (${preference}) as preference on true)`;
  return db
    .selectFrom(slots.as('found'))
    .select(['userId', 'taskId', 'kind', 'slot', 'newest', 'resolvedUpTo', 'resolution'])
    .select(['emailEnabled', 'pushEnabled', 'chatDmEnabled']);
});

type OfUsers = Params<{ users: readonly string[] }>;

const findContacts = defineStatement((db, { param }: OfUsers) =>
  db
    .selectFrom('Contact')
    .select(['userId', 'email', 'emailSuspendedAt', 'chatMemberId', 'chatSuspendedAt'])
    .where('userId', '=', sql<string>`any(${param('users', 'text[]')})`),
);

const findSubscriptions = defineStatement((db, { param }: OfUsers) =>
  db
    .selectFrom('PushSubscription')
    .select(['userId', 'id', 'host'])
    .where('userId', '=', sql<string>`any(${param('users', 'text[]')})`)
    .orderBy('id'),
);
