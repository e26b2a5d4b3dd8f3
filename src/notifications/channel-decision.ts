import { type RawBuilder, sql } from 'kysely';
import { type DeliveryChannel, deliveryChannels } from '../values/delivery-channel.enums.ts';
import { channelSkipReasons, type SkipReason, taskSkipReasons } from './notification.enums.ts';
import { type Channels, defaultChannels, isChannelEnabled } from './preferences/channels.ts';

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

const shiftOf = (channel: DeliveryChannel) => BITS * deliveryChannels.indexOf(channel);
const TASK_SHIFT = BITS * deliveryChannels.length;

/** Where and how a user is reached: what decides over which channels a notification of a kind is delivered. */
export type Reach = {
  /** The preference of the kind; `undefined` if it is not stored. */
  channels: Channels | undefined;
  /** The targets of each channel that are not suspended, by ID; empty for email and chat. */
  targets: Readonly<Record<DeliveryChannel, readonly Target[]>>;
};

/** A target of a channel, and the provider that is paused on its failures. */
export type Target = { id: string; provider: string };

/** A user's contact, as far as it decides about targets. */
type Addresses = {
  readonly [Name in 'email' | 'emailSuspendedAt' | 'chatMemberId' | 'chatSuspendedAt']: string | null;
};

/** Lists a user's targets that are not suspended. */
export function listTargets(
  contact: Addresses | undefined,
  subscriptions: readonly { id: string; host: string }[],
): Reach['targets'] {
  const hasEmail = contact && contact.email !== null && contact.emailSuspendedAt === null;
  const hasChat = contact && contact.chatMemberId !== null && contact.chatSuspendedAt === null;
  return {
    email: hasEmail ? [{ id: '', provider: 'email' }] : [],
    push: subscriptions.map(({ id, host }) => ({ id, provider: host })),
    chat: hasChat ? [{ id: '', provider: 'chat' }] : [],
  };
}

/**
 * Decides over which channels a notification is delivered.
 * @param providers the channels that have a provider
 * @param taskReason why a task's notification is delivered over none. No channel is then left to the caller either
 */
export function decideChannels(
  { channels = defaultChannels, targets }: Reach,
  providers: ReadonlySet<DeliveryChannel>,
  taskReason?: (typeof taskSkipReasons)[number],
): number {
  const findCode = (channel: DeliveryChannel) => {
    if (!isChannelEnabled(channel, channels)) return codeOf('channel_disabled');
    if (!providers.has(channel) && taskReason === undefined) return codeOf('no_provider');
    return targets[channel].length === 0 ? codeOf('no_target') : 0;
  };
  const ofTask = taskReason === undefined ? 0 : taskSkipReasons.indexOf(taskReason) + 1;
  return deliveryChannels.reduce(
    (decision, channel) => decision | (findCode(channel) << shiftOf(channel)),
    ofTask << TASK_SHIFT,
  );
}

/** Selects a row `(channel, reason)` for each channel over which a notification is not delivered. */
export function selectSkipped(
  decision: RawBuilder<number>,
): RawBuilder<{ channel: DeliveryChannel; reason: SkipReason }> {
  const rows = deliveryChannels.map(
    (channel) => sql`(${sql.lit(channel)}, (${decision} >> ${sql.lit(shiftOf(channel))}) & ${sql.lit(MASK)})`,
  );
  const toArray = (reasons: readonly SkipReason[]) =>
    sql`(array[${sql.join(reasons.map((reason) => sql.lit(reason)))}])`;
  return sql`(select * from (
    select channel, coalesce(${toArray(channelSkipReasons)}[code], ${toArray(taskSkipReasons)}[${decision} >> ${sql.lit(TASK_SHIFT)}]) as reason
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

/** Whether a notification was sent over a channel when it was published. */
export function isSent(decision: number): boolean {
  return deliveryChannels.some((channel) => reasonOf(channel, decision) === undefined);
}

/**
 * Whether a published notification may be queued for a channel again, for targets that were added since: the channel was
 * not left to the caller or, if a task token published the notification, which counts as sent or not when it is stored,
 * the channel was not skipped.
 */
export function mayQueue(
  channel: DeliveryChannel,
  { skippedChannels, byTask }: { skippedChannels: number; byTask: boolean },
): boolean {
  const reason = reasonOf(channel, skippedChannels);
  return byTask ? reason === undefined : reason !== 'no_provider';
}

function reasonOf(channel: DeliveryChannel, decision: number): SkipReason | undefined {
  const code = (decision >> shiftOf(channel)) & MASK;
  return channelSkipReasons[code - 1] ?? taskSkipReasons[(decision >> TASK_SHIFT) - 1];
}
