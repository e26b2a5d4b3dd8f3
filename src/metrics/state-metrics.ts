import { Gauge, type Registry } from 'prom-client';
import type { PoolState } from '../database/pool.ts';

/** What a gauge tells at the moment of a scrape; undefined where there is nothing to tell. */
type Reading = () => number | undefined;

/** The parts of a gateway whose state is read at every scrape. */
export type GatewayState = {
  liveSubscribers: Reading;
  isListening(): boolean;
  pools(): PoolState[];
  cachedTokens: Reading;
  /** Seconds since the key set was fetched; undefined where it never was, and where it is not fetched at all. */
  keySetAge: Reading;
  /** Undefined where none is configured. */
  isRedisUp: (() => boolean) | undefined;
};

/** Reads the state of a gateway at every scrape; nothing is done between scrapes. */
export function createStateMetrics(registry: Registry, state: GatewayState): void {
  const gauge = (name: string, help: string, read: Reading) => createGauge(registry, name, help, read);

  gauge('gateway_live_subscribers', 'Live subscriptions that are open.', state.liveSubscribers);
  gauge(
    'gateway_listener_up',
    'Whether announcements of changes arrive, by which live events come at once: 1 or 0.',
    () => Number(state.isListening()),
  );
  gauge('gateway_cached_tokens', 'Verified tokens in memory, at most 10,000.', state.cachedTokens);
  gauge('gateway_key_set_age_seconds', 'Time since the key set was fetched.', state.keySetAge);
  const { isRedisUp } = state;
  if (isRedisUp !== undefined) {
    gauge('gateway_redis_up', 'Whether Redis answers: 1 or 0.', () => Number(isRedisUp()));
  }
  createPoolGauges(registry, state.pools);
}

const POOL = 'db_client_connection_pool_name';

function createPoolGauges(registry: Registry, pools: () => PoolState[]): void {
  const gauge = (name: string, help: string, read: (pool: PoolState) => number) =>
    new Gauge({
      name,
      help,
      labelNames: [POOL],
      registers: [registry],
      collect() {
        for (const pool of pools()) this.set({ [POOL]: pool.name }, read(pool));
      },
    });

  gauge('db_client_connection_max', 'Connections of a pool at most.', ({ max }) => max);
  gauge(
    'db_client_connection_pending_requests',
    'Waiting for a connection of a pool.',
    ({ pending }) => pending,
  );
  new Gauge({
    name: 'db_client_connection_count',
    help: 'Connections of a pool by state.',
    labelNames: [POOL, 'db_client_connection_state'],
    registers: [registry],
    collect() {
      for (const { name, used, idle } of pools()) {
        this.set({ [POOL]: name, db_client_connection_state: 'used' }, used);
        this.set({ [POOL]: name, db_client_connection_state: 'idle' }, idle);
      }
    },
  });
}

function createGauge(registry: Registry, name: string, help: string, read: Reading): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read();
      if (value === undefined) this.remove();
      else this.set(value);
    },
  });
}
