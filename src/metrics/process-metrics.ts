import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { LogOutput } from '../log.ts';

/** Sampling interval of the event loop delay, which limits its resolution. */
const EVENT_LOOP_RESOLUTION_MS = 20;

/**
 * Registers metrics of the process: CPU, memory, event loop, garbage collection, and the gateway's version. To be
 * called once per process, because its observers are never removed.
 */
export function registerProcessMetrics(registry: Registry, version: string): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_RESOLUTION_MS });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1. The label is the version of the gateway.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version }, 1);
}

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

/**
 * Registers the counter of rate limit charges that are counted in memory because Redis is unreachable. Returns a
 * function that counts one.
 */
export function createFallbackCounter(registry: Registry): () => void {
  const fallbacks = new Counter({
    name: 'gateway_rate_limit_fallbacks_total',
    help: 'Rate limit charges counted in memory because Redis was unreachable.',
    registers: [registry],
  });
  return () => fallbacks.inc();
}

/** Registers counters of failed log writes and dropped lines. */
export function registerLogMetrics(registry: Registry, output: LogOutput): void {
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });

  counter(
    'gateway_log_write_failures_total',
    'Failed writes of the log. Their lines are kept, and the write is retried.',
    () => output.failedWrites,
  );
  counter(
    'gateway_log_lines_dropped_total',
    'Log lines dropped because the buffer of 1 MiB was full.',
    () => output.droppedLines,
  );
}
