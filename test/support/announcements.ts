import pg from 'pg';
import { CHANNEL, readPayload } from '../../src/live/message.ts';
import type { TestDatabase } from './database.ts';

/** Hears what gateways tell each other. */
export type Announcements = {
  /** Every announced change: user, topic and revision. */
  changes(): (readonly [string, string, number])[];
  close(): Promise<void>;
};

/** Listens beside the gateways of a database. */
export async function listenTo({ url }: TestDatabase): Promise<Announcements> {
  const client = new pg.Client({ connectionString: url });
  const changes: (readonly [string, string, number])[] = [];
  client.on('notification', ({ payload }) => {
    for (const { user, topic, revision } of readPayload(payload)?.changes ?? []) {
      changes.push([user, topic, revision]);
    }
  });
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
  return { changes: () => changes, close: () => client.end() };
}
