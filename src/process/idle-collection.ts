import { performance } from 'node:perf_hooks';

/**
 * A collection blocks the event loop for about 100 ms and discards compiled code, so that requests take up to twice the
 * CPU time until it is compiled again. It therefore runs only after a period with hardly any work.
 */
export const IDLE_PERIOD_MS = 60_000;
const MAX_UTILIZATION = 0.01;

/** Heap growth since the last collection that triggers another. */
const MIN_GROWTH_BYTES = 33_554_432;

/**
 * Collects the old generation while the process is idle. V8 lets the heap grow by half or more before it collects, so
 * an idle process would keep the garbage of its start and of its last burst. Requires `--expose-gc`.
 */
export function collectGarbageWhenIdle(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  /**
   * The size of the heap after the last collection. Initially 0, so that the garbage from startup is collected too.
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
  }, IDLE_PERIOD_MS).unref();
}
