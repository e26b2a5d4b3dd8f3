import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import { collectAtMostEvery } from './collect-at-most-every.ts';

/** Metrics of deliveries. */
export type DeliveryMetrics = {
  /** Records an attempt by its outcome: `delivered`, or the reason why it did not deliver. */
  countAttempt(channel: DeliveryChannel, outcome: string): void;
  /** Records the seconds from publishing a notification to the provider's acceptance. */
  observeDelay(channel: DeliveryChannel, seconds: number): void;
};

/** In seconds. Email waits a minute by default, and retries end after a day. */
const DELAY_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 65, 90, 300, 1800, 7200, 86_400];

/** Registers the metrics of attempts. Each counter of a channel and outcome starts at 0, so that the first is seen. */
export function createDeliveryMetrics(
  registry: Registry,
  channels: Iterable<DeliveryChannel>,
  outcomes: readonly string[],
): DeliveryMetrics {
  const registers = [registry];
  const attempts = new Counter({
    name: 'gateway_delivery_attempts_total',
    help: 'Attempts to deliver a notification, by channel and outcome.',
    labelNames: ['channel', 'outcome'],
    registers,
  });
  for (const channel of channels) for (const outcome of outcomes) attempts.inc({ channel, outcome }, 0);
  const delays = new Histogram({
    name: 'gateway_delivery_delay_seconds',
    help: 'Time from the publication of a notification to its acceptance by a provider.',
    labelNames: ['channel'],
    buckets: DELAY_BUCKETS,
    registers,
  });
  return {
    countAttempt: (channel, outcome) => attempts.inc({ channel, outcome }),
    observeDelay: (channel, seconds) => delays.observe({ channel }, seconds),
  };
}

/** A channel's unfinished deliveries, since when the oldest has been due, and since when one waits for a sender. */
type Backlog = { channel: DeliveryChannel; count: number; dueSince: string; overdueSince: string | null };

/** Minimum time between two reads of the backlog. */
const BACKLOG_INTERVAL_MS = 15_000;

const secondsSince = (time: string | null = null) =>
  time === null ? 0 : (Date.now() - Date.parse(time)) / 1000;

/** Registers gauges of the deliveries that are not finished, in the whole database, read at most every 15 seconds. */
export function createBacklogMetrics(
  registry: Registry,
  channels: Iterable<DeliveryChannel>,
  read: () => Promise<readonly Backlog[]>,
): void {
  const collect = collectAtMostEvery(BACKLOG_INTERVAL_MS, {
    async set() {
      const backlogs = await read();
      for (const channel of channels) {
        const backlog = backlogs.find((one) => one.channel === channel);
        counts.set({ channel }, backlog?.count ?? 0);
        ages.set({ channel }, secondsSince(backlog?.dueSince));
        delays.set({ channel }, secondsSince(backlog?.overdueSince));
      }
    },
    reset() {
      counts.reset();
      ages.reset();
      delays.reset();
    },
  });
  const gauge = (name: string, help: string) =>
    new Gauge({ name, help, labelNames: ['channel'], registers: [registry], collect });
  const counts = gauge(
    'gateway_delivery_backlog',
    'Deliveries of all users whose first attempt was due and that are not finished.',
  );
  const ages = gauge(
    'gateway_delivery_age_seconds',
    'Time since the first attempt of the oldest unfinished delivery of all users was due; 0 if there is none.',
  );
  const delays = gauge(
    'gateway_delivery_overdue_seconds',
    'Time since the oldest due attempt of all users became due; 0 if none is.',
  );
}
