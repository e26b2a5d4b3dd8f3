import { Counter, Histogram, type Registry } from 'prom-client';

/** Metrics of events outside requests. */
export type EventMetrics = {
  /** Records the time from an announcement until its events have been read. */
  observeDelay(seconds: number): void;
  /** Records that a rate limit was counted in memory because Redis is unreachable. */
  countFallback(): void;
};

/** In seconds. */
const DELAY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Registers the metrics of live events and rate limit fallbacks. */
export function createEventMetrics(registry: Registry): EventMetrics {
  const registers = [registry];
  const delays = new Histogram({
    name: 'gateway_event_delay_seconds',
    help: 'Time from the announcement of a committed change until its event has been read for a subscriber.',
    buckets: DELAY_BUCKETS,
    registers,
  });
  const fallbacks = new Counter({
    name: 'gateway_rate_limit_fallbacks_total',
    help: 'Rate limit charges counted in memory because Redis was unreachable.',
    registers,
  });
  return {
    observeDelay: (seconds) => delays.observe(seconds),
    countFallback: () => fallbacks.inc(),
  };
}
