import { setTimeout as pause } from 'node:timers/promises';
import { Gauge, type Registry } from 'prom-client';

/** How many credentials are in a state. */
type Count = { state: string; count: number };

/** Counting reads the whole table, so it is done no more often. */
const KEPT_MS = 60_000;

/** A scrape waits no longer: a count that comes later is told to the next one. */
const PATIENCE_MS = 1000;

/**
 * Counts credentials by state when a scrape asks, at most once a minute. A database that is slow or away never fails
 * a scrape: the count is late, or it is missing.
 */
export function createCredentialMetrics(registry: Registry, count: () => Promise<readonly Count[]>): void {
  let countedAt = Number.NEGATIVE_INFINITY;
  let counting: Promise<void> | undefined;
  const gauge = new Gauge({
    name: 'gateway_editor_credentials',
    help: 'Stored editor credentials of all users by state, counted once a minute.',
    labelNames: ['state'],
    registers: [registry],
    async collect() {
      if (Date.now() - countedAt < KEPT_MS) return;
      counting ??= recount().finally(() => {
        counting = undefined;
      });
      await Promise.race([counting, pause(PATIENCE_MS, undefined, { ref: false })]);
    },
  });

  /** Never rejects. */
  async function recount(): Promise<void> {
    try {
      const counts = await count();
      for (const { state, count } of counts) gauge.set({ state }, count);
      countedAt = Date.now();
    } catch {
      // Old numbers would be taken for the present ones.
      gauge.reset();
    }
  }
}
