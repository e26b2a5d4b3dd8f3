import { performance } from 'node:perf_hooks';

/** How often the process checks whether to collect. */
const CHECK_MS = 2000;

/** Heap growth since the last collection that triggers another. */
const MIN_GROWTH_BYTES = 33_554_432;

/** A collection blocks the event loop for about 100 ms, so it runs only below this utilization. */
const MAX_UTILIZATION = 0.1;

/**
 * Collects the old generation while the process is idle. V8 lets the heap grow by half or more before it collects, so
 * an idle process would keep the garbage of its start and of its last burst. Requires `--expose-gc`.
 */
export function collectGarbageWhenIdle(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  /**
   * The size of the heap after the last collection. Initially 0, so that the first check collects the garbage from
   * startup.
   */
  let baseline = 0;
  let seen = performance.eventLoopUtilization();
  setInterval(() => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, seen);
    seen = now;
    const { heapUsed } = process.memoryUsage();
    baseline = Math.min(baseline, heapUsed);
    if (utilization > MAX_UTILIZATION || heapUsed - baseline < MIN_GROWTH_BYTES) return;
    gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    baseline = process.memoryUsage().heapUsed;
  }, CHECK_MS).unref();
}
