import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';

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
