import { LRUCache } from 'lru-cache';
import type { ChannelLimits } from './channel.ts';
import type { Choice, Claim, DueDelivery } from './claim.ts';
import type { Providers } from './providers.ts';

/** The minimum time that a delivery waits which must wait for another message. */
const WAIT_MS = 250;

/** How much later each further delivery is due that waits for the same, so that they do not come back together. */
const SPACING_MS = 1;

/** How much later than others a user's message is due that would not prove that a provider works again. */
const SUSPECT_MS = 1000;

/** The maximum number of users and providers whose waiting deliveries are remembered. */
const MAX_WAITING = 10_000;

/** What the choice depends on. `running` are the deliveries of the channel that this sender is sending. */
export type ChoiceInput = {
  due: readonly DueDelivery[];
  running: readonly Pick<Claim, 'userId' | 'provider'>[];
  limits: ChannelLimits;
  /** Whether more deliveries of the channel may be due. */
  isFull: boolean;
  /** The time of a monotonic clock, in milliseconds. */
  now: number;
};

/**
 * Chooses which of the due deliveries of a channel are sent now, the oldest first: as many as the channel allows at
 * once, of each user and of each provider. Those found before that must wait are due again one after another, those of
 * a paused provider after its pause.
 */
export type Choose = (input: ChoiceInput) => Choice;

/** Creates the choice, which remembers when deliveries are due that wait for the same user or provider. */
export function createChoice(providers: Providers): Choose {
  const lastDue = new LRUCache<string, number>({ max: MAX_WAITING });
  const findDueTime = (waitsFor: string, earliest: number) => {
    const at = Math.max(lastDue.get(waitsFor) ?? 0, earliest) + SPACING_MS;
    lastDue.set(waitsFor, at);
    return at;
  };

  return ({ due, running, limits, isFull, now }) => {
    const choice: Choice = { chosen: [], later: [] };
    const sent = [...running];
    const candidates = due.map((delivery) => {
      const provider = providers(delivery.channel, delivery.provider);
      return { delivery, provider, isSuspect: provider.isSuspect(delivery.userId) };
    });
    // After a pause, a message of another user is tried first.
    const inTurn = candidates.toSorted((one, other) => Number(one.isSuspect) - Number(other.isSuspect));
    for (const { delivery, provider, isSuspect } of inTurn) {
      if (sent.length >= limits.concurrency) break;
      const { channel, userId, provider: name } = delivery;
      const ofUser = sent.filter((one) => one.userId === userId).length;
      const ofProvider = sent.filter((one) => one.provider === name).length;
      const wait = (waitsFor: string, earliest: number) => {
        const at = findDueTime(`${channel} ${waitsFor}`, Math.max(earliest, now + WAIT_MS));
        choice.later.push({ delivery, seconds: (at - now) / 1000 });
      };
      if (ofProvider >= provider.limit(limits.concurrencyPerProvider, now) || (isSuspect && isFull)) {
        const delay = isSuspect ? SUSPECT_MS : 0;
        wait(`provider ${name}`, (provider.pausedUntil ?? now) + delay);
      } else if (ofUser >= limits.concurrencyPerUser) {
        wait(`user ${userId}`, now);
      } else {
        sent.push(delivery);
        choice.chosen.push(delivery);
      }
    }
    return choice;
  };
}
