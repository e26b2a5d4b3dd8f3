import { collectDefaultMetrics, Gauge, type Registry } from 'prom-client';
import manifest from '../../package.json' with { type: 'json' };

/** Milliseconds between two looks at the event loop's delay, which cannot be told finer. */
const EVENT_LOOP_RESOLUTION_MS = 20;

/**
 * Adds what tells of the process: processor, memory, event loop, garbage collection, and the gateway's version. Once
 * in a process, by its entry point: the observers behind it are never taken down.
 */
export function addProcessMetrics(registry: Registry): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: EVENT_LOOP_RESOLUTION_MS });
  new Gauge({
    name: 'gateway_build_info',
    help: 'Always 1; the version is in the label.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: manifest.version }, 1);
}
