import { type RawBuilder, sql } from 'kysely';
import { advisoryLocks } from '../database/advisory-locks.ts';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import { defineStatement, type Params } from '../database/statement.ts';
import { transaction } from '../database/transaction.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Delivery } from './delivery.entity.ts';
import {
  deliveryKey,
  isUnfinished,
  keyProperties,
  matchesKeyIn,
  selectWithTargets,
  unwantedReason,
} from './select-deliveries.ts';

/** Longer than an attempt may take. A sender that has not stored a result by then is assumed to have stopped. */
export const LEASE_SECONDS = 60;

const claimProperties = [
  ...keyProperties,
  ...(['provider', 'step', 'claims', 'attempts', 'receipt', 'createdAt', 'expiresAt'] as const),
];

/** A claimed delivery. */
export type Claim = Pick<Delivery, (typeof claimProperties)[number]>;

/** How many deliveries to claim of a channel, of each of its providers, and of each user. */
export type ChannelCapacity = {
  channel: DeliveryChannel;
  free: number;
  freePerProvider: number;
  /** Includes the deliveries of the user that any sender is sending. */
  perUser: number;
};

/**
 * How many deliveries to claim of a provider that is in use, paused or recovering. Other providers have the full
 * `freePerProvider` of their channel. Deliveries of `failing` users are claimed only if no other user has any.
 */
export type ProviderCapacity = {
  channel: DeliveryChannel;
  provider: string;
  free: number;
  failing: readonly string[];
};

/**
 * Where the next claim continues to search a backlog: after a user of a provider or, if `provider` is empty, after a
 * provider of the channel. Empty at the end.
 */
export type Cursor = { channel: DeliveryChannel; provider: string; after: string };

/** The deliveries that a sender claimed, and where it continues to search if it did not search everything. */
export type ClaimResult = { claims: Claim[]; cursors: Cursor[] };

/**
 * Claims due deliveries. Users take turns: those with the fewest running messages first, then those whose deliveries
 * have been due for longest. A delivery that another sender has claimed is due again when the lease expires.
 *
 * Claims of all senders run one after another, so that each counts the running messages of a user that the one before
 * has claimed.
 */
export async function claimDue(
  database: Database,
  channels: readonly ChannelCapacity[],
  providers: readonly ProviderCapacity[],
  cursors: readonly Cursor[],
): Promise<ClaimResult> {
  const capacities = {
    channels: JSON.stringify(channels),
    providers: JSON.stringify(providers),
    cursors: JSON.stringify(cursors),
  };
  const rows = await transaction(database, [], async (run) => {
    const [, found] = await Promise.all([run(lockClaims, {}), run(claim, capacities)]);
    return found;
  });
  return {
    claims: rows.filter(isClaim),
    cursors: rows.flatMap(({ cursorChannel: channel, cursorProvider: provider, cursor: after }) =>
      after === null ? [] : [{ channel, provider, after }],
    ),
  };
}

const lockClaims = defineStatement((db) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(${sql.lit(advisoryLocks.claims)})`.as('locked')),
);

/** Whether a row of the statement is a claimed delivery, and neither a cursor nor locked by another transaction. */
function isClaim<Row extends { [Name in keyof Claim]: Claim[Name] | null }>(row: Row): row is Row & Claim {
  return row.claims !== null;
}

/** JSON arrays of {@link ChannelCapacity}, {@link ProviderCapacity} and {@link Cursor}. */
type Capacities = { channels: string; providers: string; cursors: string };

const claim = defineStatement((db, params: Params<Capacities>) =>
  db
    .with('due', () => selectDue(params))
    .with('claimed', (db) =>
      db
        .updateTable('Delivery')
        .from('due')
        .set((eb) => ({
          state: 'sending',
          claims: eb('Delivery.claims', '+', 1),
          attempts: eb('Delivery.attempts', '+', 1),
          mayBeDelivered: sql`due.state = 'sending' or ${eb.ref('Delivery.mayBeDelivered')}`,
          reason: sql`case due.state when 'sending' then 'lease_expired' else ${eb.ref('Delivery.reason')} end`,
          providerCode: sql`case due.state when 'sending' then null else ${eb.ref('Delivery.providerCode')} end`,
          dueAt: sql`now() + make_interval(secs => ${sql.lit(LEASE_SECONDS)})`,
          updatedAt: sql`now()`,
        }))
        .where(matchesKeyIn('due'))
        .returning(claimProperties.map((name) => `Delivery.${name}` as const)),
    )
    .selectFrom('due')
    .leftJoin('claimed', (join) =>
      keyProperties.reduce((joined, name) => joined.onRef(`claimed.${name}`, '=', `due.${name}`), join),
    )
    .select(['due.channel as cursorChannel', 'due.provider as cursorProvider', 'due.cursor'])
    .select(claimProperties.map((name) => `claimed.${name}` as const)),
);

/** A channel with at most as many due deliveries is searched by time, and one with more by provider and user. */
const MAX_BY_TIME = 100;

/** The maximum number of providers of a channel, and of users of each of them, that a claim visits in a backlog. */
const MAX_PROVIDERS = 50;
const MAX_USERS = 200;

const delivery = sql.table('Delivery');
const key = sql.join(keyProperties.map((name) => sql.ref(name)));
const [userId, dueAt] = [sql.ref('userId'), sql.ref('dueAt')];
const isDue = sql`${isUnfinished} and ${dueAt} <= now()`;

/**
 * Selects and locks the deliveries to claim, with `state` as it was before, and the cursors, whose `cursor` is not null.
 * Locked rows are skipped, so that senders do not wait for changes of users.
 *
 * Usually, few deliveries are due and all of them are candidates. In a backlog, candidates are searched in turns: the
 * next users of the next providers, by one step in the index for each, so that neither the backlog of a user nor that of
 * a paused provider is read. Some conditions are written so that PostgreSQL cannot use
 * the index by time for them, in which it would read that backlog.
 */
function selectDue({
  param,
}: Params<Capacities>): RawBuilder<
  Pick<Delivery, (typeof keyProperties)[number] | 'provider' | 'state'> & { cursor: string | null }
> {
  const running = (user: RawBuilder<unknown>, channel: string) => sql`(select count(*) from ${delivery}
    where ${userId} = ${user} and channel = ${sql.ref(channel)} and state = 'sending' and ${dueAt} - now() > interval '0')`;
  return sql`(
    with recursive
    capacity as (
      select * from json_to_recordset(${param('channels', 'json')})
        as capacity (channel text, free int, "freePerProvider" int, "perUser" int)),
    reduced as (
      select * from json_to_recordset(${param('providers', 'json')})
        as reduced (channel text, provider text, free int, failing text[])),
    cursors as (
      select * from json_to_recordset(${param('cursors', 'json')})
        as cursors (channel text, provider text, after text)),
    oldest as (
      select due.* from capacity cross join lateral (
        select ${key}, provider, state, ${dueAt} from ${delivery}
         where channel = capacity.channel and ${isDue}
         order by ${dueAt} limit ${sql.lit(MAX_BY_TIME + 1)}) as due),
    backlog as (
      select channel from oldest group by channel having count(*) > ${sql.lit(MAX_BY_TIME)}),
    providers (channel, provider, step) as (
      select channel, coalesce(cursors.after, ''), 0
        from backlog left join (select * from cursors where provider = '') as cursors using (channel)
      union all
      select providers.channel, next.provider, step + 1 from providers cross join lateral (
        select provider from ${delivery}
         where channel = providers.channel and provider > providers.provider and ${isUnfinished}
         order by provider limit 1) as next
       where step < ${sql.lit(MAX_PROVIDERS)}),
    users (channel, provider, free, "perUser", failing, ${userId}, step, found, "isReady") as (
      select channel, provider, free, "perUser", failing, after collate "C", 0, 0, false
        from (
          select channel, provider, "perUser", reduced.failing, coalesce(cursors.after, '') as after,
                 least(capacity.free, coalesce(reduced.free, "freePerProvider")) as free
            from providers join capacity using (channel) left join reduced using (channel, provider)
            left join cursors using (channel, provider)
           where step > 0) as visited
       where free > 0
      union all
      select users.channel, users.provider, free, "perUser", failing, next.${userId}, step + 1,
             found + case when ready."isReady" and (next.${userId} = any(failing)) is not true then 1 else 0 end,
             ready."isReady"
        from users cross join lateral (
          select ${userId}::text, ${dueAt} from ${delivery}
           where channel = users.channel and provider = users.provider and ${userId} > users.${userId}
             and ${isUnfinished}
           order by ${userId}, ${dueAt} limit 1) as next
       cross join lateral (
          select next.${dueAt} <= now() and ${running(sql`next.${userId}`, 'users.channel')} < "perUser" as "isReady") as ready
       where step < ${sql.lit(MAX_USERS)} and found < free),
    candidates as (
      select oldest.*, extract(epoch from ${dueAt})::float8 as priority
        from oldest where channel not in (select channel from backlog)
      union all
      select due.*, random() from users cross join lateral (
        select ${key}, provider, state, ${dueAt} from ${delivery}
         where channel = users.channel and provider = users.provider
           and ${userId} >= users.${userId} and ${userId} <= users.${userId} and ${isDue}
         order by ${userId}, ${dueAt} limit "perUser") as due
       where "isReady"),
    turns as (
      select candidates.*, capacity.free as "freeOfChannel", "perUser",
             coalesce(reduced.free, "freePerProvider") as "freeOfProvider",
             coalesce(${userId} = any(failing), false) as "isFailing",
             row_number() over (partition by channel, ${userId} order by ${dueAt}) as turn
        from candidates join capacity using (channel) left join reduced using (channel, provider)
       where coalesce(reduced.free, "freePerProvider") > 0),
    allowed as (
      select turns.*, load, row_number() over (partition by channel, provider order by "isFailing", load, priority) as place
        from turns cross join lateral (select turn + ${running(sql`turns.${userId}`, 'turns.channel')} as load) as loads
       where turn <= "perUser" and load <= "perUser"),
    chosen as (
      select *, row_number() over (partition by channel order by load, priority) as position
        from allowed where place <= "freeOfProvider")
    select ${key}, provider, state, null as cursor from chosen
     cross join lateral (
       select from ${delivery} where (${key}) = (${sql.join(keyProperties.map((name) => sql.ref(`chosen.${name}`)))}) and ${isDue}
        for update skip locked) as locked
     where position <= "freeOfChannel"
    union all
    (select distinct on (channel, provider) null, null, channel, null, provider, null,
            case when step = ${sql.lit(MAX_USERS)} or found >= free then ${userId} else '' end
       from users order by channel, provider, step desc)
    union all
    (select distinct on (channel) null, null, channel, null, '', null,
            case when step = ${sql.lit(MAX_PROVIDERS)} then provider else '' end
       from providers order by channel, step desc))`;
}

type Keys = Readonly<Record<'users' | 'notifications' | 'channels' | 'targets', readonly string[]>>;

/** Reads what claimed deliveries send, and whether they are still wanted. */
const findData = defineListRead((db, { param }: ReadParams<Keys>) => {
  const claimed = sql.join(deliveryKey.map((name) => sql.ref(name)));
  const isClaimed: RawBuilder<boolean> = sql`(${claimed}) in (select * from unnest(${param('users')}::text[],
    ${param('notifications')}::text[], ${param('channels')}::text[], ${param('targets')}::text[]))`;
  return selectWithTargets(db)
    .select(deliveryKey)
    .select([
      'Notification.kind',
      'Notification.byTask',
      'Notification.title',
      'Notification.previewText',
      'Notification.taskName',
      'Notification.projectName',
      'Notification.payload',
      'Notification.occurredAt',
      'Contact.email',
      'Contact.chatMemberId',
      'PushSubscription.ciphertext',
      unwantedReason.as('unwanted'),
      'Delivery.mayBeDelivered',
      sql<boolean>`${sql.ref('Delivery.expiresAt')} <= now()`.as('isExpired'),
    ])
    .where(isClaimed);
});

/** The data of a claimed delivery; columns of missing joined rows are null. */
export type DeliveryData = Awaited<ReturnType<typeof findData>>[number];

/** Loads the data of claims. Omits deliveries that were deleted since, with their user or by retention. */
export async function loadDeliveryData(
  database: Database,
  claims: readonly Claim[],
): Promise<{ claim: Claim; data: DeliveryData }[]> {
  const loaded = await findData(database, {
    users: claims.map(({ userId }) => userId),
    notifications: claims.map(({ notificationId }) => notificationId),
    channels: claims.map(({ channel }) => channel),
    targets: claims.map(({ target }) => target),
  });
  return claims.flatMap((claim) => {
    const data = loaded.find((row) => keyProperties.every((name) => row[name] === claim[name]));
    return data === undefined ? [] : [{ claim, data }];
  });
}
