import { setTimeout as pause } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

/** The number of credentials in a state. */
type Count = { state: string; count: number };

/** Minimum time between two counts, which read the whole table. */
const COUNT_INTERVAL_MS = 60_000;

/** Maximum time that a scrape waits for a count. The next scrape reports a later result. */
const MAX_WAIT_MS = 1000;

/**
 * Registers a gauge of credentials by state, counted at most once a minute. A slow or unreachable database never fails a
 * scrape: the count is delayed or missing.
 */
export function createCredentialMetrics(registry: Registry, count: () => Promise<readonly Count[]>): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;
  const gauge = new Gauge({
    name: 'gateway_editor_credentials',
    help: 'Editor credentials of all users by state, counted at most once a minute.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      if (Date.now() - countedAt < COUNT_INTERVAL_MS) return;
      counting ??= recount().finally(() => {
        counting = undefined;
      });
      await Promise.race([counting, pause(MAX_WAIT_MS, undefined, { ref: false })]);
    },
  });

  /** Never rejects. */
  async function recount(): Promise<void> {
    try {
      const counts = await count();
      for (const { state, count } of counts) gauge.set({ state }, count);
      countedAt = Date.now();
    } catch {
      // A missing value is better than an outdated one.
      gauge.reset();
    }
  }
}
