import { Counter, Histogram, type Registry } from 'prom-client';

/** What the parts of a gateway tell as it happens. */
export type EventMetrics = {
  /** So many seconds went by from an announcement to the handing over of its events. */
  delivered(seconds: number): void;
  /** A rate limit was counted in memory, for Redis is away. */
  countedInMemory(): void;
};

/** In seconds. */
const DELAY_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Records what happens beside the requests. */
export function createEventMetrics(registry: Registry): EventMetrics {
  const registers = [registry];
  const delays = new Histogram({
    name: 'gateway_event_delay_seconds',
    help: 'Time from the announcement of a committed change to the handing over of its events to a subscriber.',
    buckets: DELAY_BUCKETS,
    registers,
  });
  const fallbacks = new Counter({
    name: 'gateway_rate_limit_fallbacks_total',
    help: 'Points that were counted in memory because Redis was away.',
    registers,
  });
  return {
    delivered: (seconds) => delays.observe(seconds),
    countedInMemory: () => fallbacks.inc(),
  };
}
