import { LRUCache } from 'lru-cache';
import type { ChannelLimits } from './channel.ts';
import type { Choice, Claim, DueDelivery } from './claim.ts';
import type { Providers } from './providers.ts';

/**
 * The maximum number of found deliveries that stay due although they must wait for a running message, whose end wakes
 * the sender. They last until the others are due again, so that the sender never idles.
 */
const MAX_STAYING = 100;

/** The minimum time after which the others that wait for a running message are due again. */
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
 * once, of each user and of each provider. Of those found before that must wait, those of a paused provider are due
 * again after its pause, and the others, except for the oldest, a little later, one after another.
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
    let staying = 0;
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
        if (earliest <= now && staying < MAX_STAYING) {
          staying += 1;
          return;
        }
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
