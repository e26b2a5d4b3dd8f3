import { type RawBuilder, sql } from 'kysely';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import { channelSkipReasons, type SkipReason, taskSkipReasons } from './notification.enums.ts';
import { isChannelEnabled } from './preferences/channels.ts';

/*
 * For each channel, publishing decides whether the gateway delivers, and if not, why. The decision is stored with the
 * notification in `skippedChannels`: two bits a channel, in the order of the channels, with the number of the reason in
 * `channelSkipReasons` from 1, or 0 if the gateway delivers. The bits above are the number of a reason in
 * `taskSkipReasons`, for which the gateway delivers over none of the channels that would be 0.
 */

const BITS = 2;
const MASK = 2 ** BITS - 1;

/** Returns the code of a reason. */
const codeOf = (reason: (typeof channelSkipReasons)[number]) => channelSkipReasons.indexOf(reason) + 1;

/** Returns the code of a reason that applies to the notification of a task. */
export const codeOfTask = (reason: (typeof taskSkipReasons)[number]) => taskSkipReasons.indexOf(reason) + 1;

const shiftOf = (channel: DeliveryChannel) => BITS * deliveryChannels.indexOf(channel);
const TASK_SHIFT = BITS * deliveryChannels.length;

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
  /** The code of the reason of a task, or 0. With one, no channel is left to the caller either. */
  taskCode: RawBuilder<number>;
};

/** Decides for a notification of this user and kind. Without a provider, no contact or subscription is read. */
export function decideChannels({ userId, kind, providers, taskCode }: DecisionInput): RawBuilder<number> {
  const owner = (table: string) => sql`${sql.ref(`${table}.userId`)} = ${userId}`;
  const hasTarget = {
    ...isTarget,
    push: sql`exists (select from ${sql.table('PushSubscription')} where ${owner('PushSubscription')})`,
  };
  const codes = deliveryChannels.map(
    (channel) => sql`(case when not ${isChannelEnabled(channel)} then ${sql.lit(codeOf('channel_disabled'))}
      when ${sql.lit(channel)} <> all(${providers}) and ${taskCode} = 0 then ${sql.lit(codeOf('no_provider'))}
      when not ${hasTarget[channel]} then ${sql.lit(codeOf('no_target'))}
      else 0 end << ${sql.lit(shiftOf(channel))})`,
  );
  return sql`(select (${sql.join(codes, sql` | `)} | (${taskCode} << ${sql.lit(TASK_SHIFT)}))::smallint from (select) as nothing
    left join ${sql.table('NotificationPreference')} on ${owner('NotificationPreference')}
      and ${sql.ref('NotificationPreference.notificationKind')} = ${kind}
    left join ${sql.table('Contact')} on ${owner('Contact')} and cardinality(${providers}) > 0)`;
}

/** Whether a notification's decision leaves a channel to the caller of `publishNotification`. */
function isLeftToCaller(channel: DeliveryChannel, decision: RawBuilder<number>): RawBuilder<boolean> {
  return sql`(${selectCode(channel, decision)} = ${sql.lit(codeOf('no_provider'))})`;
}

/**
 * Whether a published notification may be queued for a channel again, for targets that were added since: the channel was
 * not left to the caller or, if a task token published the notification, which counts as sent or not when it is stored,
 * the channel was not skipped.
 */
export function mayQueue(
  channel: DeliveryChannel,
  decision: RawBuilder<number>,
  byTask: RawBuilder<boolean>,
): RawBuilder<boolean> {
  return sql`case when ${byTask} then ${isSentOver(channel, decision)} else not ${isLeftToCaller(channel, decision)} end`;
}

/** Whether a notification was sent over a channel when it was published. */
export function isSent(decision: RawBuilder<number>): RawBuilder<boolean> {
  return sql`(${sql.join(
    deliveryChannels.map((channel) => isSentOver(channel, decision)),
    sql` or `,
  )})`;
}

function isSentOver(channel: DeliveryChannel, decision: RawBuilder<number>): RawBuilder<boolean> {
  return sql`(${selectCode(channel, decision)} = 0 and ${selectTaskCode(decision)} = 0)`;
}

const selectTaskCode = (decision: RawBuilder<number>) => sql`(${decision} >> ${sql.lit(TASK_SHIFT)})`;

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
  const toArray = (reasons: readonly SkipReason[]) =>
    sql`(array[${sql.join(reasons.map((reason) => sql.lit(reason)))}])`;
  return sql`(select * from (
    select channel, coalesce(${toArray(channelSkipReasons)}[code], ${toArray(taskSkipReasons)}[${selectTaskCode(decision)}]) as reason
    from (values ${sql.join(rows)}) as decided (channel, code)) as skipped where reason is not null)`;
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
  const code = (decision >> shiftOf(channel)) & MASK;
  return channelSkipReasons[code - 1] ?? taskSkipReasons[(decision >> TASK_SHIFT) - 1];
}
