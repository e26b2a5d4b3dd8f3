import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import { defineStatement, type Params, runStatement } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Delivery } from './delivery.entity.ts';
import { deliveryKey, matchesKeyIn } from './delivery-key.ts';

/** Longer than an attempt may take. A sender that has not stored a result by then is assumed to have stopped. */
export const LEASE_SECONDS = 60;

/** A claimed delivery. */
export type Claim = Pick<
  Delivery,
  | 'userId'
  | 'notificationId'
  | 'channel'
  | 'target'
  | 'provider'
  | 'step'
  | 'claims'
  | 'attempts'
  | 'receipt'
  | 'createdAt'
  | 'expiresAt'
>;

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
export async function claimDue(
  database: Database,
  channels: readonly ChannelCapacity[],
  providers: readonly ProviderCapacity[],
): Promise<Claim[]> {
  return runStatement(database, claim, {
    channels: channels.map(({ channel }) => channel),
    free: channels.map(({ free }) => free),
    freePerProvider: channels.map(({ freePerProvider }) => freePerProvider),
    providerChannels: providers.map(({ channel }) => channel),
    providers: providers.map(({ name }) => name),
    freeOfProviders: providers.map(({ free }) => free),
  });
}

type Input = {
  channels: readonly DeliveryChannel[];
  free: readonly number[];
  freePerProvider: readonly number[];
  providerChannels: readonly DeliveryChannel[];
  providers: readonly string[];
  freeOfProviders: readonly number[];
};

type Due = Pick<Delivery, 'userId' | 'notificationId' | 'channel' | 'target' | 'state'>;

const claim = defineStatement((db, params: Params<Input>) =>
  db
    .with('due', () => selectDue(params))
    .updateTable('Delivery')
    .from('due')
    .set((eb) => ({
      state: 'sending',
      claims: eb('Delivery.claims', '+', 1),
      attempts: eb('Delivery.attempts', '+', 1),
      reason: sql`case due.state when 'sending' then 'lease_expired' else delivery.reason end`,
      providerCode: sql`case due.state when 'sending' then null else delivery.provider_code end`,
      dueAt: sql`now() + make_interval(secs => ${sql.lit(LEASE_SECONDS)})`,
      updatedAt: sql`now()`,
    }))
    .where(matchesKeyIn('due'))
    .returning([
      ...deliveryKey,
      'Delivery.provider',
      'Delivery.step',
      'Delivery.claims',
      'Delivery.attempts',
      'Delivery.receipt',
      'Delivery.createdAt',
      'Delivery.expiresAt',
    ]),
);

/** The condition of the index `delivery_due`. */
const unfinished = sql`state in ('pending', 'sending')`;

/**
 * Selects and locks the deliveries to claim: for each provider up to its capacity, and in total up to the channel's.
 * Locked rows are skipped, so that senders neither wait for each other nor claim the same row.
 */
function selectDue({ param }: Params<Input>): RawBuilder<Due> {
  const capacity = sql`unnest(${param('channels', 'text[]')}, ${param('free', 'int[]')},
    ${param('freePerProvider', 'int[]')}) as capacity (channel, free, per_provider)`;
  const reduced = sql`unnest(${param('providerChannels', 'text[]')}, ${param('providers', 'text[]')},
    ${param('freeOfProviders', 'int[]')}) as reduced (channel, provider, free)`;
  const dueOfProvider = sql`
    select user_id, notification_id, channel, target, state, due_at from delivery
     where channel = providers.channel and provider = providers.provider and ${unfinished} and due_at <= now()
     order by due_at limit least(capacity.free, coalesce(reduced.free, capacity.per_provider))
     for update skip locked`;
  return sql`(
    with recursive providers (channel, provider) as (${selectProviders()}),
    candidates as (
      select due.*, row_number() over (partition by due.channel order by due_at) as position, capacity.free
        from providers
        join ${capacity} on capacity.channel = providers.channel
        left join ${reduced} on reduced.channel = providers.channel and reduced.provider = providers.provider
       cross join lateral (${dueOfProvider}) as due)
    select * from candidates where position <= free)`;
}

/**
 * Selects the providers that have unfinished deliveries, as the recursive table expression `providers`. Finds each
 * provider by one step in the index, so that the deliveries of a paused provider are not read.
 */
function selectProviders(): RawBuilder<unknown> {
  return sql`
    (select channel, provider from delivery where ${unfinished} order by channel, provider limit 1)
    union all
    select next.* from providers cross join lateral (
      select channel, provider from delivery
       where ${unfinished} and (channel, provider) > (providers.channel, providers.provider)
       order by channel, provider limit 1) as next`;
}
