import { type RawBuilder, sql } from 'kysely';
import type { EntityManager } from '../database/database.ts';
import { runStatement, type Slots, statement } from '../database/statement.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Delivery } from './delivery.entity.ts';

/** Longer than an attempt may take. A sender that has not stored a result by then is assumed to have stopped. */
const LEASE_SECONDS = 60;

/** A claimed delivery. */
export type Claim = Pick<
  Delivery,
  | 'userId'
  | 'notificationId'
  | 'channel'
  | 'target'
  | 'step'
  | 'claims'
  | 'attempts'
  | 'receipt'
  | 'createdAt'
  | 'expiresAt'
>;

/** How many deliveries of each channel to claim. */
export type Capacity = ReadonlyMap<DeliveryChannel, number>;

/** Claims the deliveries that have been due for longest. Those of another sender whose lease has expired are due too. */
export async function claimDue(em: EntityManager, capacity: Capacity): Promise<Claim[]> {
  return runStatement(em, claim, { channels: [...capacity.keys()], limits: [...capacity.values()] });
}

type Input = { channels: readonly DeliveryChannel[]; limits: readonly number[] };

type Due = Pick<Delivery, 'userId' | 'notificationId' | 'channel' | 'target' | 'state'>;

const claim = statement((db, { slot }: Slots<Input>) => {
  // Locked rows are skipped, so that senders neither wait for each other nor claim the same row.
  const due: RawBuilder<Due> = sql`(
    select due.*
      from unnest(${slot('channels', 'text[]')}, ${slot('limits', 'int[]')}) as capacity (channel, free)
     cross join lateral (
       select user_id, notification_id, channel, target, state from delivery
        where channel = capacity.channel and state in ('pending', 'sending') and due_at <= now()
        order by due_at limit capacity.free for update skip locked) as due)`;
  return db
    .updateTable('Delivery')
    .from(due.as<'due'>(sql`due`))
    .set((eb) => ({
      state: 'sending',
      claims: eb('Delivery.claims', '+', 1),
      attempts: eb('Delivery.attempts', '+', 1),
      reason: sql`case due.state when 'sending' then 'lease_expired' else delivery.reason end`,
      providerCode: sql`case due.state when 'sending' then null else delivery.provider_code end`,
      dueAt: sql`now() + make_interval(secs => ${sql.lit(LEASE_SECONDS)})`,
      updatedAt: sql`now()`,
    }))
    .where(sql<boolean>`(delivery.user_id, delivery.notification_id, delivery.channel, delivery.target) =
      (due.user_id, due.notification_id, due.channel, due.target)`)
    .returning([
      'Delivery.userId',
      'Delivery.notificationId',
      'Delivery.channel',
      'Delivery.target',
      'Delivery.step',
      'Delivery.claims',
      'Delivery.attempts',
      'Delivery.receipt',
      'Delivery.createdAt',
      'Delivery.expiresAt',
    ]);
});
