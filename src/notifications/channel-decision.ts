import { type RawBuilder, sql } from 'kysely';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import { type SkipReason, skipReasons } from './notification.enums.ts';
import { isChannelEnabled } from './preferences/channels.ts';

/*
 * For each channel, publishing decides whether the gateway delivers, and if not, why. The decision is stored with the
 * notification in `skippedChannels`: two bits a channel, in the order of the channels, with the number of the reason in
 * `skipReasons` from 1, or 0 if the gateway delivers.
 */

const BITS = 2;
const MASK = 2 ** BITS - 1;

/** Returns the code of a reason. */
const codeOf = (reason: SkipReason) => skipReasons.indexOf(reason) + 1;

const shiftOf = (channel: DeliveryChannel) => BITS * deliveryChannels.indexOf(channel);

/** How long after its publication, or after a manual retry, a message may be sent. */
export const lifetime = sql.raw(`interval '24 h'`);

/** Returns the condition that a notification, whose properties follow the prefix, may still be delivered. */
export function isDeliverable(prefix: string): RawBuilder<boolean> {
  return sql`(${sql.ref(`${prefix}.status`)} = 'active'
    and ${sql.ref(`${prefix}.createdAt`)} > now() - ${lifetime})`;
}

/** Whether a joined contact or push subscription is a target of its channel that is not suspended. */
export const isTarget: Readonly<Record<DeliveryChannel, RawBuilder<boolean>>> = {
  email: sql`(${sql.ref('Contact.email')} is not null and ${sql.ref('Contact.emailSuspendedAt')} is null)`,
  push: sql`(${sql.ref('PushSubscription.id')} is not null)`,
  chat: sql`(${sql.ref('Contact.chatMemberId')} is not null and ${sql.ref('Contact.chatSuspendedAt')} is null)`,
};

/** What a decision depends on, besides the user's records. */
type DecisionInput = {
  userId: RawBuilder<string>;
  kind: RawBuilder<string>;
  /** The channels that have a provider. */
  providers: RawBuilder<readonly DeliveryChannel[]>;
};

/** Decides for a notification of this user and kind. Without a provider, no contact or subscription is read. */
export function decideChannels({ userId, kind, providers }: DecisionInput): RawBuilder<number> {
  const owner = (table: string) => sql`${sql.ref(`${table}.userId`)} = ${userId}`;
  const hasTarget = {
    ...isTarget,
    push: sql`exists (select from ${sql.table('PushSubscription')} where ${owner('PushSubscription')})`,
  };
  const codes = deliveryChannels.map(
    (channel) => sql`(case when not ${isChannelEnabled(channel)} then ${sql.lit(codeOf('channel_disabled'))}
      when ${sql.lit(channel)} <> all(${providers}) then ${sql.lit(codeOf('no_provider'))}
      when not ${hasTarget[channel]} then ${sql.lit(codeOf('no_target'))}
      else 0 end << ${sql.lit(shiftOf(channel))})`,
  );
  return sql`(select (${sql.join(codes, sql` | `)})::smallint from (select) as nothing
    left join ${sql.table('NotificationPreference')} on ${owner('NotificationPreference')}
      and ${sql.ref('NotificationPreference.notificationKind')} = ${kind}
    left join ${sql.table('Contact')} on ${owner('Contact')} and cardinality(${providers}) > 0)`;
}

/** Whether a notification's decision leaves a channel to the caller of `publishNotification`. */
export function isLeftToCaller(channel: DeliveryChannel, decision: RawBuilder<number>): RawBuilder<boolean> {
  return sql`(${selectCode(channel, decision)} = ${sql.lit(codeOf('no_provider'))})`;
}

function selectCode(channel: DeliveryChannel, decision: RawBuilder<number>): RawBuilder<number> {
  return sql`(${decision} >> ${sql.lit(shiftOf(channel))} & ${sql.lit(MASK)})`;
}

/** Selects a row `(channel, reason)` for each channel over which a notification is not delivered. */
export function selectSkipped(
  decision: RawBuilder<number>,
): RawBuilder<{ channel: DeliveryChannel; reason: SkipReason }> {
  const rows = deliveryChannels.map(
    (channel) => sql`(${sql.lit(channel)}, ${selectCode(channel, decision)})`,
  );
  const reasons = sql`array[${sql.join(skipReasons.map((reason) => sql.lit(reason)))}]`;
  return sql`(select channel, (${reasons})[code] as reason from (values ${sql.join(rows)}) as skipped (channel, code)
    where code > 0)`;
}

/** Lists the channels that the user enabled. */
export function listEnabled(decision: number): DeliveryChannel[] {
  return deliveryChannels.filter((channel) => reasonOf(channel, decision) !== 'channel_disabled');
}

/** Lists the channels that are left to the caller of `publishNotification`. */
export function listLeftToCaller(decision: number): DeliveryChannel[] {
  return deliveryChannels.filter((channel) => reasonOf(channel, decision) === 'no_provider');
}

function reasonOf(channel: DeliveryChannel, decision: number): SkipReason | undefined {
  return skipReasons[((decision >> shiftOf(channel)) & MASK) - 1];
}
