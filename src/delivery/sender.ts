import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type Claim, claimDue } from './claim.ts';
import { type DeliveryJob, type DeliveryOptions, deliver } from './deliver.ts';
import { createChoice } from './turns.ts';

/** Sends the deliveries that are due, until it is stopped. */
export type Sender = {
  /** Looks for due deliveries now instead of at the next sweep. */
  wake(): void;
  /**
   * Stops claiming, and waits up to `graceMs` for running attempts. Other senders claim the unfinished deliveries once
   * their leases expire.
   */
  stop(graceMs: number): Promise<void>;
};

/** The interval of sweeps. They find deliveries whose delay or lease has ended, and those that were not announced. */
const SWEEP_MS = 500;

/** The interval of sweeps while the database fails. */
const SWEEP_AFTER_ERROR_MS = 5000;

/** The maximum number of deliveries of a channel that a claim finds while some must wait. */
const MAX_FOUND = 1000;

/** The pause between two claims, so that one claim covers more deliveries. */
const COLLECT_MS = 10;

/**
 * Starts to send. Each round finds due deliveries, oldest first, and claims as many as can be sent at once, so that none
 * waits while its lease runs. Most of what must wait for its user or its provider is due again later, so that no claim
 * reads a backlog twice.
 */
export function startSender(options: DeliveryOptions): Sender {
  const { database, channels, log } = options;
  const running = new Map<Promise<void>, Claim>();
  const choose = createChoice(options.providers);
  /** The channels in which the last claim left places free although it found more that is due. */
  const crowded = new Set<DeliveryChannel>();
  let isStopping = false;
  let sleep = new AbortController();

  const start = (job: DeliveryJob) => {
    const delivery = deliver(options, job)
      .catch((error: unknown) =>
        log.error(
          { err: error },
          'completing a delivery failed; it is claimed again when its lease expires, and its message may be sent twice',
        ),
      )
      .finally(() => {
        running.delete(delivery);
        sleep.abort();
      });
    running.set(delivery, job.claim);
  };

  /** Claims and starts what is due. Returns the milliseconds until the next claim. */
  const sendDue = async (): Promise<number> => {
    const claimedAt = performance.now();
    let sleepMs = SWEEP_MS;
    for (const [channel, limits] of channels) {
      const sending = [...running.values()].filter((claim) => claim.channel === channel);
      const free = limits.concurrency - sending.length;
      if (free === 0) continue;
      const maximum = crowded.has(channel) ? MAX_FOUND : free;
      const claims = await claimDue(database, channel, maximum, (due) => {
        const isFull = due.length === maximum;
        const choice = choose({ due, running: sending, limits, isFull, now: claimedAt });
        if (isFull) sleepMs = 0;
        if (choice.chosen.length < Math.min(free, due.length)) crowded.add(channel);
        else crowded.delete(channel);
        return choice;
      });
      for (const data of claims) start({ claim: data, data, claimedAt });
    }
    return sleepMs;
  };

  const loop = async () => {
    while (!isStopping) {
      // Replaced before the claim, so that a wake during the claim leads to another claim.
      sleep = new AbortController();
      const { signal } = sleep;
      const sleepMs = await sendDue().catch((error: unknown) => {
        log.warn(
          { err: error },
          'claiming deliveries failed; those already claimed are sent after their leases expire',
        );
        return SWEEP_AFTER_ERROR_MS;
      });
      await pause(sleepMs, undefined, { signal }).catch(() => undefined);
      await pause(COLLECT_MS);
    }
  };

  const stopped = loop();
  return {
    wake: () => sleep.abort(),
    async stop(graceMs) {
      isStopping = true;
      sleep.abort();
      await stopped;
      const attempts = Promise.all(running.keys());
      await Promise.race([attempts, pause(graceMs, undefined, { ref: false })]);
      await Promise.all(Array.from(channels.values(), (channel) => channel.close()));
    },
  };
}
