import { performance } from 'node:perf_hooks';

/** How often the process looks whether there is something to collect. */
const CHECK_MS = 2000;

/** Less garbage than this is left to V8. */
const MIN_GROWTH_BYTES = 33_554_432;

/** A collection takes some 100 ms, which would delay whatever a busier event loop has to do. */
const MAX_UTILIZATION = 0.1;

/**
 * Collects the old generation while the process has little to do. V8 lets it grow by half or more before it does so by
 * itself, and a process that mostly waits for events would hold what the last burst left behind. Needs `--expose-gc`.
 */
export function collectWhenIdle(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  let collectedAt = process.memoryUsage().heapUsed;
  let seen = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    const { heapUsed } = process.memoryUsage();
    collectedAt = Math.min(collectedAt, heapUsed);
    if (utilization > MAX_UTILIZATION || heapUsed - collectedAt < MIN_GROWTH_BYTES) return;
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    collectedAt = process.memoryUsage().heapUsed;
  }, CHECK_MS).unref();
}
