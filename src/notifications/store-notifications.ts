import { type RawBuilder, sql } from 'kysely';
import {
  type Guard,
  guardOf,
  isGuarded,
  isNew,
  type KnownUser,
  moveRevisions,
} from '../database/change-user.ts';
import type { Database, Tables } from '../database/database.ts';
import { type Bound, defineVariants, type Params, param, toJsonRows } from '../database/statement.ts';
import type { Event, Patch } from './lifecycle.ts';
import { type Notification, NotificationSchema, type TaskResolution } from './notification.entity.ts';
import type { QueuedDelivery } from './publish.ts';

/** What a decision about a user's notifications stores. Whatever is omitted does not change. */
export type Changes = {
  /** The IDs of notifications that are deleted, with their deliveries. */
  removed?: readonly string[];
  patches?: readonly Patch[];
  inserted?: readonly Notification[];
  marks?: readonly Omit<TaskResolution, 'userId'>[];
  events?: readonly Event[];
  deliveries?: readonly QueuedDelivery[];
};

/** In the order in which they are stored. */
const parts = ['removed', 'patches', 'inserted', 'marks', 'events', 'deliveries'] as const;
type Part = (typeof parts)[number];

/** The rows of the parts as JSON, and the columns of the notification that is inserted if it is a single one. */
type Input = Guard & Record<Part, string> & Partial<Notification>;

/**
 * Returns by how many revisions changes move the user's: to that of the last one, of which a row that changes twice takes
 * two. Whatever a decision may read moves it, even if nobody sees it.
 * @param from the user's revision before
 */
export function countMoved(
  { deliveries: _unguarded, patches = [], inserted = [], ...rest }: Changes,
  from: number,
): number {
  const moves = Object.values(rest).some((rows) => rows.length > 0);
  return Math.max(moves ? 1 : 0, ...[...patches, ...inserted].map(({ revision }) => revision - from));
}

/** Returns the statement that stores changes of users; `undefined` if there are none. */
export function createStore(
  database: Database,
  decided: readonly { user: KnownUser; changes: Changes }[],
): Bound<{ isStored: boolean }> | undefined {
  const rows: Record<Exclude<Part, 'inserted'>, object[]> & { inserted: Notification[] } = {
    removed: [],
    patches: [],
    inserted: [],
    marks: [],
    events: [],
    deliveries: [],
  };
  const moved: [KnownUser, number][] = [];
  for (const { user, changes } of decided) {
    const { userId, at } = user;
    const { removed = [], patches = [], inserted = [], marks = [], events = [], deliveries = [] } = changes;
    for (const id of removed) rows.removed.push({ userId, id });
    for (const patch of patches) rows.patches.push({ userId, ...patch });
    for (const mark of marks) rows.marks.push({ userId, ...mark });
    for (const event of events) rows.events.push({ userId, ...event, at });
    rows.inserted.push(...inserted);
    rows.deliveries.push(...deliveries);
    const by = countMoved(changes, user.notifications);
    if (by > 0 || deliveries.length > 0) moved.push([user, by]);
  }
  if (moved.length === 0) return undefined;
  const guard = guardOf('notifications', moved);
  const [first, ...others] = rows.inserted;
  const one = others.length === 0 ? first : undefined;
  const given = parts.filter((part) => rows[part].length > 0);
  const variant = store([
    ...(isNew(guard) ? ['isNew' as const] : []),
    ...(one ? ['isOne' as const] : []),
    ...given,
  ]);
  const json = (part: Part) => (rows[part].length > 0 ? toJsonRows(database, rows[part]) : '');
  return variant(database, {
    ...guard,
    ...one,
    removed: json('removed'),
    patches: json('patches'),
    inserted: one ? '' : json('inserted'),
    marks: json('marks'),
    events: json('events'),
    deliveries: json('deliveries'),
  });
}

const { ref } = sql;

/** The names of the columns that rows have. */
const columns = {
  inserted: Object.keys(NotificationSchema.meta.properties),
  marks: ['userId', 'taskId', 'kind', 'resolvedUpTo', 'resolution', 'updatedAt'],
  events: ['userId', 'type', 'notificationId', 'taskId', 'at'],
  deliveries: [
    'userId',
    'notificationId',
    'channel',
    'target',
    'provider',
    'state',
    'dueAt',
    'firstDueAt',
    'expiresAt',
    'createdAt',
    'updatedAt',
  ],
} as const satisfies Partial<Record<Part, readonly string[]>>;

/**
 * The statement that moves the users' revisions and, if they were those that were read, stores all rows. Each step
 * reads from the one before it. PostgreSQL would otherwise run them in any order, and an insert before the patch that makes
 * room for it violates the unique index. If only some revisions were those that were read, or a row that is removed or
 * patched does not exist, the statement divides by zero and stores nothing.
 */
const store = defineVariants<Part | 'isNew' | 'isOne', Input, { isStored: boolean }>(
  (db, params, variant) => {
    const given = parts.filter((part) => variant.includes(part));
    const count = (name: string) => sql`(select count(*) from ${sql.table(name)})`;
    const steps = [sql`guard as (${moveRevisions(params, 'notifications', variant.includes('isNew'))})`];
    for (const [index, part] of given.entries()) {
      const follows = sql`${isGuarded} and ${count(given[index - 1] ?? 'guard')} >= 0`;
      const change = part === 'inserted' && variant.includes('isOne') ? insertOne : build[part];
      steps.push(sql`${sql.table(part)} as (${change(params, follows)} returning 1)`);
    }
    if (given.includes('removed')) {
      steps.push(sql`"removedDeliveries" as (delete from ${sql.table('Delivery')}
      where (${ref('userId')}, ${ref('notificationId')}) in (select ${ref('userId')}, id from ${rowsOf('Notification', param('removed', 'json'))})
        and exists (select from removed))`);
    }
    const isWhole = [
      sql`${count('guard')} = cardinality(${param('users', 'text[]')})`,
      ...(['removed', 'patches'] as const)
        .filter((part) => given.includes(part))
        .map((part) => sql`${count(part)} = json_array_length(${param(part, 'json')})`),
    ];
    const query = sql<{
      isStored: boolean;
    }>`with ${sql.join(steps)} select case when ${isGuarded}
    then 1 / (${sql.join(isWhole, sql` and `)})::int = 1 else false end as "isStored"`;
    return { compile: () => query.compile(db) };
  },
);

type Build = (params: Params<Input>, follows: RawBuilder<unknown>) => RawBuilder<unknown>;

const build: Record<Part, Build> = {
  removed: (_params, follows) => sql`delete from ${sql.table('Notification')}
    where ctid = any(array(select place from ${placesOf('removed')})) and ${follows}`,
  patches: (_params, follows) => {
    const assign = (name: string) => sql`${ref(name)} = ${ref(`given.${name}`)}`;
    const stored = (name: string) => ref(`stored.${name}`);
    const always = [
      'revision',
      'status',
      'resolution',
      'requestState',
      'resolvedAt',
      'dismissedAt',
      'updatedAt',
    ];
    return sql`update ${sql.table('Notification')} as stored set ${sql.join(always.map(assign))},
        receipt = coalesce(given.receipt, stored.receipt),
        answer = coalesce(given.answer, stored.answer,
          case when ${ref('given.requestState')} = 'answered' then ${stored('onExpiry')} end)
      from ${placesOf('patches')} where stored.ctid = given.place and ${follows}`;
  },
  inserted: insert('Notification', 'inserted'),
  marks: (params, follows) => {
    const assign = (name: string) => sql`${ref(name)} = ${ref(`excluded.${name}`)}`;
    return sql`${insert('TaskResolution', 'marks')(params, follows)}
      on conflict (${ref('userId')}, ${ref('taskId')}, kind) do update
      set ${sql.join(['resolvedUpTo', 'resolution', 'updatedAt'].map(assign))}
      where ${ref('excluded.resolvedUpTo')} > ${ref('TaskResolution.resolvedUpTo')}`;
  },
  events: insert('PlatformEvent', 'events'),
  deliveries: (params, follows) =>
    sql`${insert('Delivery', 'deliveries')(params, follows)} on conflict do nothing`,
};

/** The types of the columns of a notification that are no text. */
const types: Partial<Record<string, string>> = {
  revision: 'bigint',
  byTask: 'boolean',
  payload: 'json',
  skippedChannels: 'smallint',
  occurredAt: 'timestamptz',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
  resolvedAt: 'timestamptz',
  dismissedAt: 'timestamptz',
  expiresAt: 'timestamptz',
  expiresInSeconds: 'int',
  onExpiry: 'json',
  answer: 'json',
  receipt: 'json',
} satisfies Partial<Record<keyof Notification, string>>;

/** Inserts a notification by its columns, which takes PostgreSQL less time than by JSON. */
const insertOne: Build = (_params, follows) => {
  const values = columns.inserted.map((name) => param(name, types[name] ?? 'text'));
  return sql`insert into ${sql.table('Notification')} (${sql.join(columns.inserted.map((name) => ref(name)))})
    select ${sql.join(values)} where ${follows}`;
};

/**
 * The rows of a part, and where PostgreSQL has stored them, which the guard keeps from changing. They are found in the order
 * of the primary key: planned while the table is empty, a statement would otherwise use any index with the user.
 */
function placesOf(part: 'removed' | 'patches'): RawBuilder<unknown> {
  return sql`(select given.*, found.ctid as place from ${rowsOf('Notification', param(part, 'json'))}
    cross join lateral (select ctid from ${sql.table('Notification')} as n
      where n.${ref('userId')} = ${ref('given.userId')} and n.id between given.id and given.id order by n.id limit 1)
      as found) as given`;
}

function rowsOf(table: keyof Tables, json: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`json_populate_recordset(null::${sql.table(table)}, ${json}) with ordinality as given`;
}

function insert(table: keyof Tables, part: keyof typeof columns): Build {
  const names = columns[part];
  return (
    { param },
    follows,
  ) => sql`insert into ${sql.table(table)} (${sql.join(names.map((name) => ref(name)))})
    select ${sql.join(names.map((name) => ref(`given.${name}`)))} from ${rowsOf(table, param(part, 'json'))}
    where ${follows} order by ordinality`;
}
