import { Gauge, type Registry } from 'prom-client';

/** What a gauge tells at the moment of a scrape; undefined where there is nothing to tell. */
type Reading = () => number | undefined;

/** Connections of the database's pool. */
export type PoolState = { used: number; idle: number; pending: number; max: number };

/** The parts of a gateway whose state is read at every scrape. */
export type GatewayState = {
  liveSubscribers: Reading;
  isListening(): boolean;
  pool(): PoolState;
  rememberedTokens: Reading;
  /** Seconds since the key set was fetched; undefined where it never was, and where it is not fetched at all. */
  keySetAge: Reading;
  /** Undefined where none is configured. */
  isRedisUp: (() => boolean) | undefined;
};

/** Reads the state of a gateway at every scrape; nothing is done between scrapes. */
export function createStateMetrics(registry: Registry, state: GatewayState): void {
  const gauge = (name: string, help: string, read: Reading) => createGauge(registry, name, help, read);

  gauge('gateway_live_subscribers', 'Live subscriptions that are open.', state.liveSubscribers);
  gauge('gateway_listener_up', 'Whether announcements of changes arrive: 1 or 0.', () =>
    Number(state.isListening()),
  );
  gauge('gateway_remembered_tokens', 'Verified tokens in memory, at most 10,000.', state.rememberedTokens);
  gauge('gateway_key_set_age_seconds', 'Time since the key set was fetched.', state.keySetAge);
  const { isRedisUp } = state;
  if (isRedisUp !== undefined) {
    gauge('gateway_redis_up', 'Whether Redis answers: 1 or 0.', () => Number(isRedisUp()));
  }
  gauge('db_client_connection_max', 'Connections of the pool at most.', () => state.pool().max);
  gauge('db_client_connection_pending_requests', 'Requests that wait for a connection of the pool.', () => {
    return state.pool().pending;
  });
  new Gauge({
    name: 'db_client_connection_count',
    help: 'Connections of the pool by state.',
    labelNames: ['db_client_connection_state'],
    registers: [registry],
    collect() {
      const { used, idle } = state.pool();
      this.set({ db_client_connection_state: 'used' }, used);
      this.set({ db_client_connection_state: 'idle' }, idle);
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
