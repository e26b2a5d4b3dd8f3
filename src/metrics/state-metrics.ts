import { Gauge, type Registry } from 'prom-client';
import type { PoolState } from '../database/pool.ts';

/** Reads the value of a gauge; undefined removes the gauge from the scrape. */
type Reading = () => number | undefined;

/** The state of a gateway that is read at every scrape. */
export type GatewayState = {
  liveSubscribers: Reading;
  maxLiveSubscribers: Reading;
  isListening(): boolean;
  pools(): PoolState[];
  cachedTokens: Reading;
  /** Seconds since the key set was fetched; undefined if it was not. */
  keySetAge: Reading;
  maxKeySetAge: Reading;
  /** Undefined if Redis is not configured. */
  isRedisUp: (() => boolean) | undefined;
};

/** Registers gauges of a gateway's state. */
export function createStateMetrics(registry: Registry, state: GatewayState): void {
  const gauge = (name: string, help: string, read: Reading) => createGauge(registry, name, help, read);

  gauge('gateway_live_subscribers', 'Open live subscriptions.', state.liveSubscribers);
  gauge(
    'gateway_live_subscribers_max',
    'Maximum number of open live subscriptions (MAX_SUBSCRIBERS).',
    state.maxLiveSubscribers,
  );
  gauge('gateway_listener_up', 'Whether the gateway receives announcements of changes: 1 or 0.', () =>
    Number(state.isListening()),
  );
  gauge('gateway_cached_tokens', 'Cached verified tokens, at most 10,000.', state.cachedTokens);
  gauge(
    'gateway_key_set_age_seconds',
    'Time since the last successful fetch of the key set.',
    state.keySetAge,
  );
  gauge(
    'gateway_key_set_max_age_seconds',
    'Age at which the key set is no longer used (AUTH_JWKS_MAX_STALE_SECONDS).',
    state.maxKeySetAge,
  );
  const { isRedisUp } = state;
  if (isRedisUp !== undefined) {
    gauge('gateway_redis_up', 'Whether Redis is connected: 1 or 0.', () => Number(isRedisUp()));
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

  gauge('db_client_connection_max', 'Maximum number of connections of a pool.', ({ max }) => max);
  gauge(
    'db_client_connection_pending_requests',
    'Requests that wait for a connection of a pool.',
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
