import type { DeliveryFailureReason } from './delivery.enums.ts';
import type { Message } from './message.ts';

/**
 * Why an attempt failed, with the provider's code: `550 5.1.1`, `410`, `channel_not_found`. Never its text, which may
 * contain an address.
 */
export type AttemptFailure = { reason: DeliveryFailureReason; providerCode: string | null };

/** The outcome of an attempt. */
export type AttemptOutcome =
  /** The provider accepted the message. The receipt identifies it in {@link Channel.update}. */
  | { kind: 'delivered'; receipt?: string }
  /** The message may be accepted later, not before `retryAfterSeconds`. */
  | ({ kind: 'retry'; retryAfterSeconds?: number } & AttemptFailure)
  /** The message will never be accepted. If the target itself is refused, nothing more is sent to it. */
  | ({ kind: 'failed'; suspendTarget: boolean } & AttemptFailure)
  /**
   * The provider currently accepts no messages. `needsOperator` means that waiting will not help, for example because
   * it refuses the credentials.
   */
  | ({ kind: 'unavailable'; needsOperator: boolean; retryAfterSeconds?: number } & AttemptFailure);

/** How many messages a channel sends at once, and who chooses its providers. */
export type ChannelLimits = {
  /** The maximum number of messages that are sent at once. */
  readonly concurrency: number;
  /**
   * The maximum number of messages that are sent to one provider at once, so that a slow provider leaves room for
   * others.
   */
  readonly concurrencyPerProvider: number;
  /**
   * Whether users choose the provider, as with push services. Such a provider may refuse one user's messages and accept
   * others.
   */
  readonly isProviderChosenByUsers: boolean;
};

/** Sends messages over one channel. */
export type Channel<Target> = ChannelLimits & {
  /** Sends a message and returns the outcome. `signal` aborts when the attempt times out. */
  send(message: Message, target: Target, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Marks a delivered message as settled, if the provider can change messages. */
  update?(message: Message, target: Target, receipt: string, signal: AbortSignal): Promise<AttemptOutcome>;
  /** Closes idle connections. */
  close(): Promise<void>;
};
