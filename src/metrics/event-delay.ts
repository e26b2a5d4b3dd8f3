import { Histogram, type Registry } from 'prom-client';

/** In seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Registers the delay of live events. Returns a function that records one delay, in seconds. */
export function createEventDelay(registry: Registry): (seconds: number) => void {
  const delays = new Histogram({
    name: 'gateway_event_delay_seconds',
    help: 'Time from receiving the announcement of a change until its event has been read for a subscriber.',
    buckets: BUCKETS,
    registers: [registry],
  });
  return (seconds) => delays.observe(seconds);
}
