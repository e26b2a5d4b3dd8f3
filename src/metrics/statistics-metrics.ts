import { Gauge, type Registry } from 'prom-client';
import { collectAtMostEvery } from './collect-at-most-every.ts';

/** The numbers of records by their labels, which are from fixed lists. */
type Counts = {
  notifications: readonly { kind: string; status: string; count: number }[];
  deliveries: readonly { channel: string; state: string; count: number }[];
  credentials: readonly { state: string; count: number }[];
};

/** Minimum time between two reads of the counts, which sweeps update in the background. */
const READ_INTERVAL_MS = 60_000;

/**
 * Registers gauges of the records of all users, read at most once a minute. `read` returns `null` until all users were
 * counted once.
 */
export function createStatisticsMetrics(registry: Registry, read: () => Promise<Counts | null>): void {
  const collect = collectAtMostEvery(READ_INTERVAL_MS, {
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
