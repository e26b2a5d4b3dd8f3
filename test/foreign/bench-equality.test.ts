import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Callers, signCallers } from '../../bench/callers.ts';
import { publish } from '../../bench/change-requests.ts';
import { type Contender, contenders, startContender } from '../../bench/contenders.ts';
import { checkEquality } from '../../bench/equality.ts';
import { fill } from '../../bench/fill.ts';
import { createIssuer, type Issuer } from '../../bench/issuer.ts';
import type { ServerProcess } from '../../bench/server-process.ts';
import { listImplementations } from '../../bench/workload.ts';
import { workloads } from '../../bench/workloads.ts';
import { CHANNEL, parsePayload } from '../../src/live/announcement.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';

let database: TestDatabase;
let client: pg.Client;
let issuer: Issuer;
let callers: Callers;
const servers = new Map<Contender, ServerProcess>();
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await fill(client, 200);
  issuer = await createIssuer();
  callers = await signCallers(client, issuer);
  await Promise.all(
    contenders.map(async (name) => {
      servers.set(name, await startContender(name, { databaseUrl: database.url, issuer }));
    }),
  );
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()));
  await client.end();
  await database.drop();
});

test.each(Object.entries(workloads))(
  'all contenders of the workload "%s" make the same changes and return the same data',
  async (_name, workload) => {
    const running = listImplementations(workload).flatMap(({ name, implementation }) => {
      const server = servers.get(name);
      return server === undefined ? [] : [{ title: name, implementation, server }];
    });

    expect(running.length).toBeGreaterThan(1);
    await checkEquality({ client, callers }, workload, running);
  },
);

test('the contender "no-announcements" sends no announcements, unlike the gateway', async () => {
  const announced: string[] = [];
  client.on('notification', ({ payload }) => {
    announced.push(...(parsePayload(payload)?.changes.map(({ user }) => user) ?? []));
  });
  await client.query(`listen ${CHANNEL}`);
  await publishBy('no-announcements', 'alice');
  // Outstanding announcements are sent before it stops.
  await servers.get('no-announcements')?.stop();
  await publishBy('gateway', 'bob');

  await eventually(() => expect(announced).toContain('bob'));
  expect(announced).not.toContain('alice');
});

/** Publishes a notification through a contender. */
async function publishBy(name: Contender, userId: string): Promise<void> {
  const token = await issuer.sign({ sub: 'platform-service', scope: 'platform:notifications' });
  const [request] = publish.byGraphql({ userId, token, notificationIds: [] });
  const reply = await fetch(`${servers.get(name)?.address}${request?.path}`, request);
  expect(await reply.text()).toContain('"created":true');
}
