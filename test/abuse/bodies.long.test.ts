import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { member } from '../support/tokens.ts';
import { peakMemoryMiB, resetPeakMemory } from './support/memory.ts';
import { processorTimeMs } from './support/processor-time.ts';
import { openUnread } from './support/unread.ts';

let database: TestDatabase;
let gateway: GatewayProcess;
let token: string;
beforeAll(async () => {
  database = await createTestDatabase();
  gateway = await startGatewayProcess({ ...settingsFor(database), GRAPHIQL: 'true', LOG_LEVEL: 'fatal' });
  token = await member('mallory');
});
afterAll(async () => {
  await gateway.stop();
  await database.drop();
});

const CONNECTIONS = 400;

/** Compressed, it has at most 1.1 KB. */
const document = ' '.repeat(1_000_000);
const encodings = [
  ['identity', document.slice(0, 1100)],
  ['gzip', gzipSync(document)],
  ['br', brotliCompressSync(document)],
  ['zstd', zstdCompressSync(document)],
] as const;
const framings = ['Transfer-Encoding: chunked', 'Content-Length: 1200', 'Content-Length: 1000000'];

const attacks = encodings.flatMap(([encoding, content]) =>
  framings.flatMap((framing) =>
    [true, false].map((hasToken) => ({
      what: `${encoding}, ${framing}, ${hasToken ? 'one token' : 'no token'}`,
      lines: () => [
        'POST /graphql HTTP/1.1',
        'Host: a',
        'Content-Type: application/json',
        `Content-Encoding: ${encoding}`,
        framing,
        ...(hasToken ? [`Authorization: Bearer ${token}`] : []),
      ],
      part: Buffer.from(content.slice(0, -1)).toString('latin1'),
      isChunked: framing.endsWith('chunked'),
    })),
  ),
);

/** Waits until the gateway has handled everything that it received. */
function untilIdle(): Promise<void> {
  const samples = [-1];
  return eventually(() => {
    samples.unshift(processorTimeMs(gateway.pid));
    expect(new Set(samples.slice(0, 8)).size).toBe(1);
  });
}

async function expectServed(): Promise<void> {
  const other = { token: await member('alice'), body: { preferences: [] } };
  expect((await rest(gateway, 'PUT', '/user/notification-preferences', other)).status).toBe(200);
}

test.each(attacks)(
  'uses less than 80 MiB for 400 unfinished bodies, and serves others: $what',
  async ({ lines, part, isChunked }) => {
    await expectServed();
    resetPeakMemory(gateway.pid);
    const before = peakMemoryMiB(gateway.pid);
    const text = [...lines(), '', isChunked ? `${part.length.toString(16)}\r\n${part}\r\n` : part].join(
      '\r\n',
    );
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, () => openUnread(gateway, text)),
    );

    await untilIdle();
    await expectServed();
    expect(peakMemoryMiB(gateway.pid) - before).toBeLessThan(80);
    for (const connection of connections) connection.close();
  },
);

test('uses less than 80 MiB for bodies pipelined behind requests that do not end', async () => {
  const authorization = `Authorization: Bearer ${token}`;
  const query = encodeURIComponent('subscription { workspaceEvents { __typename } }');
  const stream = [
    `GET /graphql?query=${query} HTTP/1.1`,
    'Host: a',
    authorization,
    'Accept: text/event-stream',
    '',
    '',
  ].join('\r\n');
  const body = 'x'.repeat(60_000);
  const post = [
    'POST /graphql HTTP/1.1',
    'Host: a',
    authorization,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    body,
  ].join('\r\n');
  await expectServed();
  resetPeakMemory(gateway.pid);
  const before = peakMemoryMiB(gateway.pid);
  const text = stream + post.repeat(143);
  const connections = await Promise.all(Array.from({ length: 20 }, () => openUnread(gateway, text)));

  await Promise.all(connections.map((connection) => connection.readAll()));
  expect(peakMemoryMiB(gateway.pid) - before).toBeLessThan(80);
  await expectServed();
});
