import { performance } from 'node:perf_hooks';

/** How often the process checks whether to collect. */
const CHECK_MS = 2000;

/** Heap growth since the last collection that triggers another. */
const MIN_GROWTH_BYTES = 33_554_432;

/** A collection blocks the event loop for about 100 ms, so it runs only below this utilization. */
const MAX_UTILIZATION = 0.1;

/**
 * Collects the old generation while the process is idle. V8 lets the heap grow by half or more before it collects, so an
 * idle process would keep the garbage of its last burst. Requires `--expose-gc`.
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
