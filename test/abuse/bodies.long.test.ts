import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { createAs } from '../support/as.ts';
import { unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { member } from '../support/tokens.ts';
import { openUnread } from '../support/unread.ts';
import { measureMemoryMiB, processorTimeMs, useMeasuredGateway } from './measured-gateway.ts';

const gateway = useMeasuredGateway({
  GRAPHIQL: 'true',
  LOG_LEVEL: 'fatal',
  CHAT_TOKEN: unreachableProviders.CHAT_TOKEN,
  CHAT_API_URL: unreachableProviders.CHAT_API_URL,
  CHAT_SIGNING_SECRET: 'secret-of-slack-1234567890',
});
let token: string;
beforeAll(async () => {
  token = await member('mallory');
});

const CONNECTIONS = 400;

/** Compressed, it has at most 1.1 KB. */
const document = ' '.repeat(1_000_000);

/** The start of a body, its encoding, and how its length is announced. */
const attacks = [
  ['identity', document.slice(0, 1100), 'Content-Length: 1200', false],
  ['gzip', gzipSync(document), 'Transfer-Encoding: chunked', true],
  ['br', brotliCompressSync(document), 'Content-Length: 1000000', true],
  ['zstd', zstdCompressSync(document), 'Transfer-Encoding: chunked', false],
] as const;

/** Waits until the gateway has handled everything that it received. */
function untilIdle(): Promise<void> {
  const samples = [-1];
  return eventually(() => {
    samples.unshift(processorTimeMs(gateway.pid));
    expect(new Set(samples.slice(0, 8)).size).toBe(1);
  });
}

async function expectServed(): Promise<void> {
  const reply = await createAs(gateway)('alice').rest.put('/user/notification-preferences', {
    preferences: [],
  });
  expect(reply.status).toBe(200);
}

const toRequest = (lines: readonly string[], body = '') => [...lines, '', body].join('\r\n');

/** Returns how much memory connections take on which a request does not end, in MiB. */
const measureUnfinished = (text: string) =>
  measureMemoryMiB(gateway, async () => {
    const opening = Array.from({ length: CONNECTIONS }, () => openUnread(gateway, text));
    const connections = await Promise.all(opening);
    await untilIdle();
    await expectServed();
    for (const connection of connections) connection.close();
  });

test.each(attacks)(
  'uses less than 80 MiB for 400 unfinished bodies, and serves others: %s',
  async (encoding, content, framing, hasToken) => {
    await expectServed();
    const lines = ['Host: a', 'Content-Type: application/json', `Content-Encoding: ${encoding}`, framing];
    if (hasToken) lines.push(`Authorization: Bearer ${token}`);
    const part = Buffer.from(content.slice(0, -1)).toString('latin1');
    const isChunked = framing.endsWith('chunked');
    const body = isChunked ? `${part.length.toString(16)}\r\n${part}\r\n` : part;
    const text = toRequest(['POST /graphql HTTP/1.1', ...lines], body);
    expect(await measureUnfinished(text)).toBeLessThan(80);
  },
);

test('uses less than 80 MiB for 400 unfinished interactions of Slack, and serves others', async () => {
  await expectServed();
  const lines = ['Host: a', `X-Slack-Request-Timestamp: ${Math.floor(Date.now() / 1000)}`];
  lines.push(`X-Slack-Signature: v0=${'0'.repeat(64)}`, 'Content-Length: 524288');
  const text = toRequest(['POST /slack/interactions HTTP/1.1', ...lines], 'x'.repeat(100_000));
  expect(await measureUnfinished(text)).toBeLessThan(80);
});

test('uses less than 80 MiB for bodies pipelined behind requests that do not end', async () => {
  const query = encodeURIComponent('subscription { workspaceEvents { __typename } }');
  const common = ['Host: a', `Authorization: Bearer ${token}`];
  const stream = toRequest([`GET /graphql?query=${query} HTTP/1.1`, ...common, 'Accept: text/event-stream']);
  const body = 'x'.repeat(60_000);
  const framing = ['Content-Type: application/json', `Content-Length: ${body.length}`];
  const post = toRequest(['POST /graphql HTTP/1.1', ...common, ...framing], body);
  await expectServed();
  const used = await measureMemoryMiB(gateway, async () => {
    const opening = Array.from({ length: 20 }, () => openUnread(gateway, stream + post.repeat(143)));
    const connections = await Promise.all(opening);
    await Promise.all(connections.map((connection) => connection.readAll()));
  });
  expect(used).toBeLessThan(80);
  await expectServed();
});
