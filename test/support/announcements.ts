import pg from 'pg';
import { CHANNEL, parsePayload } from '../../src/live/message.ts';
import type { TestDatabase } from './database.ts';

/** Hears what gateways tell each other. */
export type Announcements = {
  /** Every announced change: user, topic and revision. */
  changes(): (readonly [string, string, number])[];
  /** How many messages held changes. */
  payloads(): number;
  close(): Promise<void>;
};

/** Listens beside the gateways of a database. */
export async function listenTo({ url }: TestDatabase): Promise<Announcements> {
  const client = new pg.Client({ connectionString: url });
  const changes: (readonly [string, string, number])[] = [];
  let payloads = 0;
  client.on('notification', ({ payload }) => {
    const heard = parsePayload(payload)?.changes ?? [];
    if (heard.length > 0) payloads += 1;
    for (const { user, topic, revision } of heard) {
      changes.push([user, topic, revision]);
    }
  });
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
  return { changes: () => changes, payloads: () => payloads, close: () => client.end() };
}
