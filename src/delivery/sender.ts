import { setTimeout as pause } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { type Cursor, claimDue, loadDeliveryData } from './claim.ts';
import { type DeliveryJob, type DeliveryOptions, deliver } from './deliver.ts';
import { listFreeChannels, listReducedCapacities } from './providers.ts';

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

/** The pause between two claims, so that one claim covers more deliveries. */
const COLLECT_MS = 10;

/** Starts to send. */
export function startSender(options: DeliveryOptions): Sender {
  const { channels, log } = options;
  const running = new Map<Promise<void>, DeliveryChannel>();
  const cursors = createCursors();
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
    running.set(delivery, job.claim.channel);
  };
  const countRunning = (channel: DeliveryChannel) =>
    [...running.values()].filter((one) => one === channel).length;
  const loop = async () => {
    while (!isStopping) {
      // Replaced before the claim, so that a wake during the claim leads to another claim.
      sleep = new AbortController();
      const { signal } = sleep;
      const sleepMs = await claimJobs(options, cursors, countRunning).then(
        ({ jobs, isComplete }) => {
          for (const job of jobs) start(job);
          return jobs.length === 0 && isComplete ? SWEEP_MS : 0;
        },
        (error: unknown) => {
          log.warn(
            { err: error },
            'claiming deliveries or loading their data failed; those already claimed are sent after their leases expire',
          );
          return SWEEP_AFTER_ERROR_MS;
        },
      );
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

/** The maximum number of remembered cursors. The search of a forgotten one starts again. */
const MAX_CURSORS = 1000;

/** Where the searches of a backlog continue, by channel and provider. */
const createCursors = () => new LRUCache<string, Cursor>({ max: MAX_CURSORS });

/**
 * Claims due deliveries and loads their data. Claims only as many as can be sent at once, so that none waits while its
 * lease runs. `isComplete` is false if the next claim has to continue to search a backlog.
 */
async function claimJobs(
  { database, channels, providers }: DeliveryOptions,
  cursors: ReturnType<typeof createCursors>,
  countRunning: (channel: DeliveryChannel) => number,
): Promise<{ jobs: DeliveryJob[]; isComplete: boolean }> {
  const free = listFreeChannels(channels, countRunning);
  if (free.length === 0) return { jobs: [], isComplete: true };
  const claimedAt = performance.now();
  const capacities = listReducedCapacities(providers, channels);
  const result = await claimDue(database, free, capacities, [...cursors.values()]);
  for (const cursor of result.cursors) {
    const key = `${cursor.channel} ${cursor.provider}`;
    if (cursor.after === '') cursors.delete(key);
    else cursors.set(key, cursor);
  }
  const isComplete = result.cursors.every(({ after }) => after === '');
  if (result.claims.length === 0) return { jobs: [], isComplete };
  const loaded = await loadDeliveryData(database, result.claims);
  return { jobs: loaded.map((delivery) => ({ ...delivery, claimedAt })), isComplete };
}
