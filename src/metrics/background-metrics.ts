import { Gauge, type Registry } from 'prom-client';
import { collectAtMostEvery } from './collect-at-most-every.ts';

/** What gateways do in the background for all users: settle requests that expire, and give positions to platform events. */
type BackgroundWork = {
  requests: { open: number; overdue: number; overdueSeconds: number };
  /** Seconds since the oldest event that has no position; 0 if there is none. */
  feedLag: number;
};

/** Minimum time between two reads. */
const READ_INTERVAL_MS = 15_000;

/** Registers gauges that show whether this work is done, in the whole database, read at most every 15 seconds. */
export function createBackgroundMetrics(registry: Registry, read: () => Promise<BackgroundWork>): void {
  const collect = collectAtMostEvery(READ_INTERVAL_MS, {
    async set() {
      const { requests, feedLag } = await read();
      open.set(requests.open);
      overdue.set(requests.overdue);
      overdueSeconds.set(requests.overdueSeconds);
      lag.set(feedLag);
    },
    reset() {
      // Unlike reset(), remove() leaves no 0 behind.
      for (const gauge of [open, overdue, overdueSeconds, lag]) gauge.remove();
    },
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry], collect });
  const open = gauge('gateway_requests_open', 'Open requests of all users, counted up to 10,000.');
  const overdue = gauge(
    'gateway_requests_overdue',
    'Open requests of all users whose expiry is due but not stored, counted up to 10,000.',
  );
  const overdueSeconds = gauge(
    'gateway_requests_overdue_seconds',
    'Time since the oldest open request of all users expired; 0 if none has.',
  );
  const lag = gauge(
    'gateway_platform_feed_lag_seconds',
    'Time since the oldest event that is not in the platform feed yet; 0 if there is none.',
  );
}
