import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeouts } from '../../src/http/timeouts.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { nextEvent, watchEvents } from '../support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { peakMemoryMiB, resetPeakMemory } from './support/memory.ts';
import { openUnread } from './support/unread.ts';

let database: TestDatabase;
/** A process of its own, whose memory is measured. */
let measured: GatewayProcess;
/** A gateway in this process, with a short time for stalled writes. */
let impatient: TestGateway;
let token: string;
beforeAll(async () => {
  database = await createTestDatabase();
  const settings = { ...settingsFor(database), GRAPHIQL: 'true', LOG_LEVEL: 'error' };
  measured = await startGatewayProcess(settings);
  const patience = { ...timeouts, stalledWriteTimeout: 1000 };
  impatient = await startTestGateway({}, database, patience);
  token = await member('alice');
  // As a list 18 MB: more than the kernel's buffers of a connection hold.
  for (let round = 0; round < 20; round += 1) {
    const workspaces = Array.from({ length: 100 }, () =>
      workspaceInput({ status: 'ERROR', errorMessage: 'x'.repeat(9000) }),
    );
    await putWorkspaces(impatient, 'alice', workspaces);
  }
});
afterAll(async () => {
  await measured.stop();
  await impatient.close();
  await database.drop();
});

/** The address of a page's script, the largest of its files. */
async function scriptOf(gateway: { address: string }, page: string, stem: string): Promise<string> {
  const reply = await fetch(`${gateway.address}${page}`, { headers: { Accept: 'text/html' } });
  const address = new RegExp(`src="(\\S+/${stem}-[^"]+)"`).exec(await reply.text())?.[1];
  if (address === undefined) throw new Error(`${page} has no script ${stem}.`);
  return `/${address}`;
}

const get = (path: string, ...lines: string[]) =>
  [`GET ${path} HTTP/1.1`, 'Host: a', ...lines, '', ''].join('\r\n');

const pages = [
  ['/docs', 'swagger-ui'],
  ['/graphql', 'graphiql'],
] as const;

test.each(pages)(
  '61 KB of pipelined requests for the script of %s, unread, cost less than 64 MiB, and end the connection',
  async (page, stem) => {
    const request = get(await scriptOf(measured, page, stem));
    resetPeakMemory(measured.pid);
    const before = peakMemoryMiB(measured.pid);
    const connection = await openUnread(measured, request.repeat(Math.ceil(61_000 / request.length)));

    await connection.readAll();
    expect(peakMemoryMiB(measured.pid) - before).toBeLessThan(64);
    expect((await fetch(`${measured.address}/healthz`)).status).toBe(200);
  },
);

test.each(pages)(
  'fifty connections that each ask 144 times for the script of %s, and do not read, cost less than 64 MiB',
  async (page, stem) => {
    const request = get(await scriptOf(measured, page, stem));
    resetPeakMemory(measured.pid);
    const before = peakMemoryMiB(measured.pid);
    const connections = await Promise.all(
      Array.from({ length: 50 }, () => openUnread(measured, request.repeat(144))),
    );
    // A reply to a later request: the others have been parsed by then.
    const settled = await openUnread(measured, request.replace(/\r\n\r\n$/, '\r\nConnection: close\r\n\r\n'));
    expect((await settled.readAll()).length).toBeGreaterThan(1_000_000);

    expect(peakMemoryMiB(measured.pid) - before).toBeLessThan(64);
    for (const connection of connections) connection.close();
  },
);

/** Waits until a request of this kind was given up before its reply was complete; returns its line of the log. */
const givenUp = (request: Record<string, unknown>) =>
  eventually(() => {
    const lines = impatient.logLines().map((line) => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ ...request, status: 200, aborted: true }));
  });

test('a client that does not read files is disconnected', async () => {
  const path = await scriptOf(impatient, '/docs', 'swagger-ui');
  const connection = await openUnread(impatient, get(path).repeat(10));

  await givenUp({ path });
  expect((await connection.readAll()).length).toBeLessThan(10 * 1_700_000);
});

test('a client that does not read a large list is disconnected, even if it goes on asking', async () => {
  const path = '/user/workspaces';
  const request = get(path, `Authorization: Bearer ${token}`);
  const connection = await openUnread(impatient, request);
  const asking = setInterval(() => connection.send(request), 100);

  await givenUp({ path });
  clearInterval(asking);
  expect((await connection.readAll()).length).toBeLessThan(18_000_000);
});

test('a live stream whose client stopped reading is ended; one without events lives on', async () => {
  const idle = await watchEvents(impatient, 'idle');
  const body = JSON.stringify({ query: 'subscription { workspaceEvents { workspace { errorMessage } } }' });
  const lines = [
    'Accept: text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const head = ['POST /graphql HTTP/1.1', 'Host: a', `Authorization: Bearer ${token}`, ...lines, '', ''];
  const connection = await openUnread(impatient, head.join('\r\n') + body);

  await givenUp({ operation: 'workspaceEvents' });
  connection.close();
  await publish(impatient, 'idle');
  expect(await nextEvent(idle)).toMatchObject({ type: 'CREATED' });
  idle.close();
});

test('a client that reads slowly gets everything, however long it takes', async () => {
  const lines = [`Authorization: Bearer ${token}`, 'Connection: close'];
  const connection = await openUnread(impatient, get('/user/workspaces', ...lines));

  expect(await connection.readSlowly(500_000, 100)).toBeGreaterThan(18_000_000);
});
