import { Gauge, type Registry } from 'prom-client';
import { collectAtMostEvery } from './collect-at-most-every.ts';

/** The number of credentials in a state. */
type Count = { state: string; count: number };

/** Minimum time between two counts, which read the whole table. */
const COUNT_INTERVAL_MS = 60_000;

/** Registers a gauge of credentials by state, counted at most once a minute. */
export function createCredentialMetrics(registry: Registry, count: () => Promise<readonly Count[]>): void {
  const gauge = new Gauge({
    name: 'gateway_editor_credentials',
    help: 'Editor credentials of all users by state, counted at most once a minute.',
    labelNames: ['state'],
    registers: [registry],
    collect: collectAtMostEvery(COUNT_INTERVAL_MS, {
      async set() {
        for (const { state, count: number } of await count()) gauge.set({ state }, number);
      },
      reset: () => gauge.reset(),
    }),
  });
}
