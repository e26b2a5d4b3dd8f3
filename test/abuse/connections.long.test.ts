import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeouts } from '../../src/server/connections.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { measureMemoryMiB, useMeasuredGateway } from './support/measured-gateway.ts';
import { openUnread } from './support/unread.ts';

const measured = useMeasuredGateway({ GRAPHIQL: 'true', LOG_LEVEL: 'error' });
/** A gateway in this process with a short timeout for stalled writes. */
let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway({}, measured.database, { ...timeouts, stalledWriteTimeout: 1000 });
  token = await member('alice');
  // The list is 18 MB, more than the kernel's socket buffers hold.
  for (let round = 0; round < 20; round += 1) {
    const workspaces = Array.from({ length: 100 }, () =>
      workspaceInput({ status: 'ERROR', errorMessage: 'x'.repeat(9000) }),
    );
    await putWorkspaces(gateway, 'alice', workspaces);
  }
});
afterAll(() => gateway.close());

/** Returns the path of a page's script, its largest asset. */
async function findScript(gateway: { address: string }, page: string, stem: string): Promise<string> {
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
  'closes a connection with 61 KB of pipelined requests for the script of %s, using less than 64 MiB',
  async (page, stem) => {
    const request = get(await findScript(measured, page, stem));
    const used = await measureMemoryMiB(measured, async () => {
      const connection = await openUnread(measured, request.repeat(Math.ceil(61_000 / request.length)));
      await connection.readAll();
    });
    expect(used).toBeLessThan(64);
    expect((await fetch(`${measured.address}/healthz`)).status).toBe(200);
  },
);

test.each(pages)(
  'uses less than 64 MiB for fifty connections with 144 unread requests each for the script of %s',
  async (page, stem) => {
    const request = get(await findScript(measured, page, stem));
    const used = await measureMemoryMiB(measured, async () => {
      const opening = Array.from({ length: 50 }, () => openUnread(measured, request.repeat(144)));
      const connections = await Promise.all(opening);
      // Once a later request has a reply, all earlier ones have been parsed.
      const settled = await openUnread(measured, request.replace(/\r\n$/, 'Connection: close\r\n\r\n'));
      expect((await settled.readAll()).length).toBeGreaterThan(1_000_000);
      for (const connection of connections) connection.close();
    });
    expect(used).toBeLessThan(64);
  },
);

/** Waits for the log line of a matching request that was aborted before its reply was complete. */
const expectAborted = (request: Record<string, unknown>) =>
  eventually(() => {
    const lines = gateway.logLines().map((line) => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ ...request, status: 200, aborted: true }));
  });

test('disconnects a client that does not read files', async () => {
  const path = await findScript(gateway, '/docs', 'swagger-ui');
  const connection = await openUnread(gateway, get(path).repeat(10));

  await expectAborted({ path });
  expect((await connection.readAll()).length).toBeLessThan(10 * 1_700_000);
});

test('disconnects a client that does not read a large list, even if it keeps sending requests', async () => {
  const path = '/user/workspaces';
  const request = get(path, `Authorization: Bearer ${token}`);
  const connection = await openUnread(gateway, request);
  const asking = setInterval(() => connection.send(request), 100);

  await expectAborted({ path });
  clearInterval(asking);
  expect((await connection.readAll()).length).toBeLessThan(18_000_000);
});

test('ends a live stream whose client stopped reading, but not one without events', async () => {
  const idle = await subscribeToNotifications(gateway, 'idle');
  const body = JSON.stringify({ query: 'subscription { workspaceEvents { workspace { errorMessage } } }' });
  const lines = [
    'Accept: text/event-stream',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ];
  const head = ['POST /graphql HTTP/1.1', 'Host: a', `Authorization: Bearer ${token}`, ...lines, '', ''];
  const connection = await openUnread(gateway, head.join('\r\n') + body);

  await expectAborted({ operation: 'workspaceEvents' });
  connection.close();
  await publish(gateway, 'idle');
  expect(await nextEvent(idle)).toMatchObject({ type: 'CREATED' });
  idle.close();
});

test('sends everything to a client that reads slowly, however long it takes', async () => {
  const lines = [`Authorization: Bearer ${token}`, 'Connection: close'];
  const connection = await openUnread(gateway, get('/user/workspaces', ...lines));

  expect(await connection.readSlowly(500_000, 100)).toBeGreaterThan(18_000_000);
});
