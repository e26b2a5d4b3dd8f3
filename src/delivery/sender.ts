import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { claimDue, loadDeliveryData } from './claim.ts';
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
      const sleepMs = await claimJobs(options, countRunning).then(
        (jobs) => {
          for (const job of jobs) start(job);
          return jobs.length === 0 ? SWEEP_MS : 0;
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

/**
 * Claims due deliveries and loads their data. Claims only as many as can be sent at once, so that none waits while its
 * lease runs.
 */
async function claimJobs(
  { database, channels, providers }: DeliveryOptions,
  countRunning: (channel: DeliveryChannel) => number,
): Promise<DeliveryJob[]> {
  const free = listFreeChannels(channels, countRunning);
  if (free.length === 0) return [];
  const claimedAt = performance.now();
  const claims = await claimDue(database, free, listReducedCapacities(providers, channels));
  if (claims.length === 0) return [];
  const loaded = await loadDeliveryData(database, claims);
  return loaded.map((delivery) => ({ ...delivery, claimedAt }));
}
