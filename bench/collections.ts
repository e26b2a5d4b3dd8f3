import { GCProfiler } from 'node:v8';

/*
 * Preloaded into a measured server. On the message `statistics`, it replies with what V8 has collected since the one before;
 * on `collect`, it collects all garbage first.
 */

/** Collections of young objects: pauses of the main thread, and what survived and moved to the old space. */
export type Collections = { pauseMs: number; promotedKib: number };

type Statistics = ReturnType<GCProfiler['stop']>['statistics'];

function readOldBytes({ heapSpaceStatistics }: Statistics[number]['afterGC']): number {
  const old = heapSpaceStatistics.filter(({ spaceName }) => !spaceName.startsWith('new_'));
  return old.reduce((sum, { spaceUsedSize }) => sum + spaceUsedSize, 0);
}

function summarize(statistics: Statistics): Collections {
  const collections = { pauseMs: 0, promotedKib: 0 };
  for (const { gcType, cost, beforeGC, afterGC } of statistics) {
    if (gcType !== 'Scavenge') continue;
    collections.pauseMs += cost / 1000;
    collections.promotedKib += (readOldBytes(afterGC) - readOldBytes(beforeGC)) / 1024;
  }
  return collections;
}

// Other threads and processes of the server have no channel to the bench.
if (process.send) {
  let profiler = new GCProfiler();
  profiler.start();
  process.on('message', (message) => {
    if (message === 'collect') globalThis.gc?.();
    process.send?.(summarize(profiler.stop().statistics));
    profiler = new GCProfiler();
    profiler.start();
  });
  // If the bench is killed, its servers end, too.
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel?.unref();
}
