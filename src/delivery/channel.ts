import { readSystemErrorCode } from '../errors/failure.ts';
import type { Log } from '../log.ts';
import type { Claim, DeliveryData } from './claim.ts';
import type { Message } from './message.ts';
import { type AttemptOutcome, retryLater } from './outcome.ts';

/** How many messages a channel sends at once, and for how long. */
export type ChannelLimits = {
  /** The maximum number of messages that are sent at once. */
  readonly concurrency: number;
  /**
   * The maximum number of messages that are sent to one provider at once, so that a slow provider leaves room for
   * others.
   */
  readonly concurrencyPerProvider: number;
  /**
   * The maximum number of messages of one user that are sent at once. It must be less than the other limits, so that a
   * user whose messages take long leaves room for others.
   */
  readonly concurrencyPerUser: number;
  /** How long an attempt may take. */
  readonly attemptMs: number;
};

/** Sends messages over one channel. */
export type Channel<Target> = ChannelLimits & {
  /** Sends a message and returns the outcome. `signal` aborts when the attempt times out. */
  send(message: Message, target: Target, signal: AbortSignal): Promise<AttemptOutcome>;
  /**
   * Looks for a message that an earlier attempt may have delivered. Returns `undefined` if it is not found, or the
   * provider does not allow to search. Requires the channel in `searchableChannels`.
   */
  find?(message: Message, target: Target, signal: AbortSignal): Promise<AttemptOutcome | undefined>;
  /** Makes a delivered message show what now holds of its notification, if the provider can change messages. */
  update?(message: Message, target: Target, receipt: string, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Closes idle connections. */
  close(): Promise<void>;
};

/** A channel that finds the targets of its deliveries. */
export type BoundChannel = ChannelLimits & {
  /** Prepares an attempt to send to the delivery's target; `undefined` if that is missing or cannot be decrypted. */
  prepare(data: DeliveryData): Promise<Attempt | undefined>;
  close(): Promise<void>;
};

/**
 * Sends the message, unless an earlier attempt has, or the update of a delivered message. Never rejects: an unexpected
 * error is logged and becomes a retry.
 */
export type Attempt = (claim: Claim, message: Message, signal: AbortSignal) => Promise<AttemptOutcome>;

/** Binds a channel to the function that finds the target of a delivery. */
export function bindChannel<Target>(
  channel: Channel<Target>,
  findTarget: (data: DeliveryData) => Promise<Target | undefined>,
  log: Log,
): BoundChannel {
  return {
    ...channel,
    async prepare(data) {
      const target = await findTarget(data);
      if (target === undefined) return undefined;
      return async ({ step, receipt, ...claim }, message, signal) => {
        try {
          if (step === 'message') {
            const { unwanted, isExpired, mayBeDelivered } = data;
            const found = mayBeDelivered && (await channel.find?.(message, target, signal));
            if (found) return found;
            if (unwanted !== null || isExpired)
              return { kind: 'unwanted', reason: unwanted ?? 'expired', providerCode: null };
            return await channel.send(message, target, signal);
          }
          // Only messages with a receipt are updated.
          if (channel.update === undefined || receipt === null) return { kind: 'delivered' };
          return await channel.update(message, target, receipt, signal);
        } catch (error) {
          log.error({ err: error, channel: claim.channel }, 'an attempt to deliver failed unexpectedly');
          return retryLater('provider_unavailable', readSystemErrorCode(error) ?? null);
        }
      };
    },
  };
}
