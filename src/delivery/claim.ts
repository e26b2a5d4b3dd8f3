import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineListRead, type ReadParams } from '../database/read.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Delivery } from './delivery.entity.ts';
import {
  deliveryKey,
  isUnfinished,
  keyProperties,
  matchesKeyIn,
  mayBeDelivered,
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

/** How many deliveries to claim: of a channel, and of each of its providers. */
export type ChannelCapacity = { channel: DeliveryChannel; free: number; freePerProvider: number };

/**
 * How many deliveries to claim of a provider that is in use, paused or recovering. Other providers have the full
 * `freePerProvider` of their channel.
 */
export type ProviderCapacity = { channel: DeliveryChannel; name: string; free: number };

/**
 * Claims the deliveries that have been due for longest. A delivery that another sender has claimed is due again when
 * the lease expires.
 */
export function claimDue(
  database: Database,
  channels: readonly ChannelCapacity[],
  providers: readonly ProviderCapacity[],
): Promise<Claim[]> {
  const capacities = { channels: JSON.stringify(channels), providers: JSON.stringify(providers) };
  return runStatement(database, claim, capacities);
}

/** JSON arrays of {@link ChannelCapacity} and {@link ProviderCapacity}. */
type Capacities = { channels: string; providers: string };

const claim = defineStatement((db, params: Params<Capacities>) =>
  db
    .with('due', () => selectDue(params))
    .updateTable('Delivery')
    .from('due')
    .set((eb) => ({
      state: 'sending',
      claims: eb('Delivery.claims', '+', 1),
      attempts: eb('Delivery.attempts', '+', 1),
      reason: sql`case due.state when 'sending' then 'lease_expired' else ${eb.ref('Delivery.reason')} end`,
      providerCode: sql`case due.state when 'sending' then null else ${eb.ref('Delivery.providerCode')} end`,
      dueAt: sql`now() + make_interval(secs => ${sql.lit(LEASE_SECONDS)})`,
      updatedAt: sql`now()`,
    }))
    .where(matchesKeyIn('due'))
    .returning(claimProperties.map((name) => `Delivery.${name}` as const)),
);

const delivery = sql.table('Delivery');
const key = sql.join(deliveryKey.map((name) => sql.ref(name)));
const dueAt = sql.ref('dueAt');

/**
 * Selects and locks the deliveries to claim: for each provider up to its capacity, and in total up to the channel's.
 * Locked rows are skipped, so that senders neither wait for each other nor claim the same row.
 */
function selectDue({
  param,
}: Params<Capacities>): RawBuilder<Pick<Delivery, (typeof keyProperties)[number] | 'state'>> {
  const capacity = sql`json_to_recordset(${param('channels', 'json')})
    as capacity (channel text, free int, "freePerProvider" int)`;
  const reduced = sql`json_to_recordset(${param('providers', 'json')})
    as reduced (channel text, name text, free int)`;
  const dueOfProvider = sql`
    select ${key}, state, ${dueAt} from ${delivery}
     where channel = providers.channel and provider = providers.provider and ${isUnfinished} and ${dueAt} <= now()
     order by ${dueAt} limit least(capacity.free, coalesce(reduced.free, capacity."freePerProvider"))
     for update skip locked`;
  return sql`(
    with recursive providers (channel, provider) as (${selectProviders()}),
    candidates as (
      select due.*, row_number() over (partition by due.channel order by ${dueAt}) as position, capacity.free
        from providers
        join ${capacity} on capacity.channel = providers.channel
        left join ${reduced} on reduced.channel = providers.channel and reduced.name = providers.provider
       cross join lateral (${dueOfProvider}) as due)
    select * from candidates where position <= free)`;
}

/**
 * Selects the providers that have unfinished deliveries, as the recursive table expression `providers`. Finds each
 * provider by one step in the index, so that the deliveries of a paused provider are not read.
 */
function selectProviders(): RawBuilder<unknown> {
  return sql`
    (select channel, provider from ${delivery} where ${isUnfinished} order by channel, provider limit 1)
    union all
    select next.* from providers cross join lateral (
      select channel, provider from ${delivery}
       where ${isUnfinished} and (channel, provider) > (providers.channel, providers.provider)
       order by channel, provider limit 1) as next`;
}

type Keys = Readonly<Record<'users' | 'notifications' | 'channels' | 'targets', readonly string[]>>;

/** Reads what claimed deliveries send, and whether they are still wanted. */
const findData = defineListRead((db, { param }: ReadParams<Keys>) => {
  const isClaimed: RawBuilder<boolean> = sql`(${key}) in (select * from unnest(${param('users')}::text[],
    ${param('notifications')}::text[], ${param('channels')}::text[], ${param('targets')}::text[]))`;
  return selectWithTargets(db)
    .select(deliveryKey)
    .select([
      'Notification.kind',
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
      mayBeDelivered.as('mayBeDelivered'),
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
