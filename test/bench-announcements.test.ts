import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { publish } from '../bench/change-requests.ts';
import { startContender } from '../bench/contenders.ts';
import { createIssuer, type Issuer } from '../bench/issuer.ts';
import { CHANNEL, parsePayload } from '../src/live/message.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { eventually } from './support/eventually.ts';

let database: TestDatabase;
let client: pg.Client;
let issuer: Issuer;
/** The users whose changes were announced. */
const announced: string[] = [];
beforeAll(async () => {
  database = await createTestDatabase();
  issuer = await createIssuer();
  client = new pg.Client({ connectionString: database.url });
  client.on('notification', ({ payload }) => {
    announced.push(...(parsePayload(payload)?.changes.map(({ user }) => user) ?? []));
  });
  await client.connect();
  await client.query(`listen ${CHANNEL}`);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

/** Publishes a notification through a contender and stops it, which sends outstanding announcements. */
async function publishBy(name: 'gateway' | 'no-announcements', userId: string): Promise<void> {
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:write' });
  const server = await startContender(name, { databaseUrl: database.url, issuer });
  const [request] = publish.byGraphql({ userId, token, notificationIds: [] });
  const reply = await fetch(`${server.address}${request?.path}`, request);
  expect(await reply.text()).toContain('"created":true');
  await server.stop();
}

test('the contender "no-announcements" sends no announcements, unlike the gateway', async () => {
  await publishBy('no-announcements', 'alice');
  await publishBy('gateway', 'bob');

  await eventually(() => expect(announced).toContain('bob'));
  expect(announced).toEqual(['bob']);
});
