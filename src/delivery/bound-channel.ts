import { readSystemErrorCode } from '../errors/system-error-code.ts';
import type { Log } from '../log.ts';
import type { AttemptOutcome, Channel, ChannelLimits } from './channel.ts';
import type { Claim } from './claim-due.ts';
import type { DeliveryData } from './load-delivery-data.ts';
import type { Message } from './message.ts';

/** A channel that finds the targets of its deliveries. */
export type BoundChannel = ChannelLimits & {
  /** Prepares an attempt to send to the delivery's target; `undefined` if that is missing or cannot be decrypted. */
  prepare(data: DeliveryData): Promise<Attempt | undefined>;
  close(): Promise<void>;
};

/**
 * Sends the message, or the update of a delivered message. Never rejects: an unexpected error is logged and becomes a
 * retry.
 */
export type Attempt = (claim: Claim, message: Message, signal: AbortSignal) => Promise<AttemptOutcome>;

/** Binds a channel to the function that finds the target of a delivery. */
export function bindChannel<Target>(
  channel: Channel<Target>,
  findTarget: (data: DeliveryData) => Promise<Target | undefined>,
  log: Log,
): BoundChannel {
  const { concurrency, concurrencyPerProvider, isProviderChosenByUsers } = channel;
  return {
    concurrency,
    concurrencyPerProvider,
    isProviderChosenByUsers,
    async prepare(data) {
      const target = await findTarget(data);
      if (target === undefined) return undefined;
      return async (claim, message, signal) => {
        try {
          return await runStep(channel, target, claim, message, signal);
        } catch (error) {
          log.error({ err: error, channel: claim.channel }, 'an attempt to deliver failed unexpectedly');
          return {
            kind: 'retry',
            reason: 'provider_unavailable',
            providerCode: readSystemErrorCode(error) ?? null,
          };
        }
      };
    },
    close: () => channel.close(),
  };
}

async function runStep<Target>(
  channel: Channel<Target>,
  target: Target,
  { step, receipt }: Claim,
  message: Message,
  signal: AbortSignal,
): Promise<AttemptOutcome> {
  if (step === 'message') return channel.send(message, target, signal);
  // Only messages with a receipt are updated.
  if (channel.update === undefined || receipt === null) return { kind: 'delivered' };
  return channel.update(message, target, receipt, signal);
}
