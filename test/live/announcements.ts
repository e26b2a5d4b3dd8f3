import pg from 'pg';
import { CHANNEL, parsePayload } from '../../src/live/listener.ts';
import type { TestDatabase } from '../support/database.ts';

/** Records the announcements that gateways send. */
export type Announcements = {
  /** Every announced change: user, topic and revision. */
  changes(): (readonly [string, string, number])[];
  close(): Promise<void>;
};

/** Listens on the announcement channel of a database. */
export async function recordAnnouncements({ url }: TestDatabase): Promise<Announcements> {
  const client = new pg.Client({ connectionString: url });
  const changes: (readonly [string, string, number])[] = [];
  client.on('notification', ({ payload }) => {
    for (const { user, topic, revision } of parsePayload(payload)?.changes ?? [])
      changes.push([user, topic, revision]);
  });
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
  return { changes: () => changes, close: () => client.end() };
}
