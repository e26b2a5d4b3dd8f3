import { Gauge, type Registry } from 'prom-client';
import type { PoolState } from '../database/pool.ts';
import { collectAtMostEvery } from './collect-at-most-every.ts';

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

/** The numbers of records by their labels, which are from fixed lists. */
type Counts = {
  notifications: readonly { kind: string; status: string; count: number }[];
  deliveries: readonly { channel: string; state: string; count: number }[];
  credentials: readonly { state: string; count: number }[];
};

/** Minimum time between two reads of the counts, which sweeps update in the background. */
const COUNTS_INTERVAL_MS = 60_000;

/**
 * Registers gauges of the records of all users, read at most once a minute. `read` returns `null` until all users were
 * counted once.
 */
export function createStatisticsMetrics(registry: Registry, read: () => Promise<Counts | null>): void {
  const collect = collectAtMostEvery(COUNTS_INTERVAL_MS, {
    async set() {
      const counts = await read();
      if (counts === null) return;
      for (const { kind, status, count } of counts.notifications) notifications.set({ kind, status }, count);
      for (const { channel, state, count } of counts.deliveries) deliveries.set({ channel, state }, count);
      for (const { state, count } of counts.credentials) credentials.set({ state }, count);
    },
    reset() {
      notifications.reset();
      deliveries.reset();
      credentials.reset();
    },
  });
  const gauge = <Label extends string>(name: string, help: string, labelNames: Label[]) =>
    new Gauge({ name, help, labelNames, registers: [registry], collect });
  const notifications = gauge(
    'gateway_notifications',
    'Stored notifications of all users by kind and status.',
    ['kind', 'status'],
  );
  const deliveries = gauge('gateway_deliveries', 'Stored deliveries of all users by channel and state.', [
    'channel',
    'state',
  ]);
  const credentials = gauge(
    'gateway_editor_credentials',
    'Editor credentials of all users by state, counted at most once a minute.',
    ['state'],
  );
}

/** What gateways do in the background for all users: settle requests that expire, and give positions to platform events. */
type BackgroundWork = {
  requests: { open: number; overdue: number; overdueSeconds: number };
  /** Seconds since the oldest event that has no position; 0 if there is none. */
  feedLag: number;
};

/** Minimum time between two reads. */
const BACKGROUND_INTERVAL_MS = 15_000;

/** Registers gauges that show whether this work is done, in the whole database, read at most every 15 seconds. */
export function createBackgroundMetrics(registry: Registry, read: () => Promise<BackgroundWork>): void {
  const collect = collectAtMostEvery(BACKGROUND_INTERVAL_MS, {
    async set() {
      const { requests, feedLag } = await read();
      open.set(requests.open);
      overdue.set(requests.overdue);
      overdueSeconds.set(requests.overdueSeconds);
      lag.set(feedLag);
    },
    reset() {
      // Unlike reset(), remove() leaves no 0 behind.
      for (const gauge of [open, overdue, overdueSeconds, lag]) gauge.remove();
    },
  });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers: [registry], collect });
  const open = gauge('gateway_requests_open', 'Open requests of all users, counted up to 10,000.');
  const overdue = gauge(
    'gateway_requests_overdue',
    'Open requests of all users whose expiry is due but not stored, counted up to 10,000.',
  );
  const overdueSeconds = gauge(
    'gateway_requests_overdue_seconds',
    'Time since the oldest open request of all users expired; 0 if none has.',
  );
  const lag = gauge(
    'gateway_platform_feed_lag_seconds',
    'Time since the oldest event that is not in the platform feed yet; 0 if there is none.',
  );
}
