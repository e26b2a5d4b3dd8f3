import type { Channel, Outcome } from './channel.ts';
import type { Claim } from './claim-due.ts';
import type { Loaded } from './load-claimed.ts';
import type { Message } from './message.ts';

/** A channel with the targets of its deliveries. */
export type Transport = {
  readonly concurrency: number;
  readonly concurrencyPerProvider: number;
  /** Whether users choose the provider. Then a refusal of one user's message says nothing about others. */
  readonly isChosenByUsers: boolean;
  /** Finds the target of a delivery; `undefined` if it cannot be decrypted. */
  open(loaded: Loaded): Promise<Attempt | undefined>;
  close(): Promise<void>;
};

/** Sends the message, or the update of a delivered message. */
export type Attempt = (claim: Claim, message: Message, signal: AbortSignal) => Promise<Outcome>;

/** Combines a channel with a function that finds the target of a delivery. */
export function createTransport<Target>(
  channel: Channel<Target>,
  findTarget: (loaded: Loaded) => Promise<Target | undefined>,
): Transport {
  return {
    concurrency: channel.concurrency,
    concurrencyPerProvider: channel.concurrencyPerProvider ?? channel.concurrency,
    isChosenByUsers: channel.concurrencyPerProvider !== undefined,
    async open(loaded) {
      const target = await findTarget(loaded);
      if (target === undefined) return undefined;
      return async ({ step, receipt }, message, signal) => {
        if (step === 'message') return channel.send(message, target, signal);
        // Only messages with a receipt are updated.
        if (channel.update === undefined || receipt === null) return { kind: 'delivered' };
        return channel.update(message, target, receipt, signal);
      };
    },
    close: () => channel.close(),
  };
}
