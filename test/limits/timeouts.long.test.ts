import { afterAll, beforeAll, expect, test } from 'vitest';
import { timeouts } from '../../src/server/connections.ts';
import { rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { member } from '../support/tokens.ts';
import { openHalfOpenClient } from './half-open-client.ts';

/** Short enough for a test, long enough for a regular client on a busy machine. */
const shortTimeouts = {
  headersTimeout: 1000,
  requestTimeout: 1500,
  keepAliveTimeout: 500,
  connectionsCheckingInterval: 50,
  stalledWriteTimeout: 500,
};

let gateway: TestGateway;
let token: string;
/** Tokens of different users, because the unfinished bodies of one user are limited together. */
let others: string[];
beforeAll(async () => {
  gateway = await startTestGateway({}, undefined, shortTimeouts);
  token = await member('alice');
  others = await Promise.all(Array.from({ length: 50 }, (_none, index) => member(`user-${index}`)));
});
afterAll(() => gateway.close());

/** Generous: connections should be closed after about three seconds. */
const MAX_MS = 10_000;

const head = (start: string, lines: string[]) =>
  `${start} HTTP/1.1\r\n${['Host: a', ...lines].join('\r\n')}\r\n`;
const authorized = () => `Authorization: Bearer ${others.pop()}`;
const json = 'Content-Type: application/json';

/** The start of a request that updates preferences. */
const put = (length: string) =>
  `${head('PUT /user/notification-preferences', [authorized(), json, length])}\r\n`;

const slowClients: [what: string, first: () => string, drip: string | undefined][] = [
  ['sends nothing', () => '', undefined],
  ['sends its request line byte by byte', () => 'GET /', 'a'],
  ['sends header after header', () => head('GET /user/workspaces', []), 'X-A: b\r\n'],
  [
    'sends its body byte by byte',
    () => `${head('PUT /user/notification-preferences', [authorized(), json, 'Content-Length: 100000'])}\r\n`,
    ' ',
  ],
  [
    'sends a GraphQL body byte by byte',
    () => `${head('POST /graphql', [authorized(), json, 'Content-Length: 100000'])}\r\n`,
    ' ',
  ],
  [
    'sends a chunked body chunk by chunk',
    () =>
      `${head('PUT /user/notification-preferences', [authorized(), json, 'Transfer-Encoding: chunked'])}\r\n`,
    '1\r\n \r\n',
  ],
  [
    'announces a body and sends none',
    () => `${head('PUT /user/notification-preferences', [authorized(), json, 'Content-Length: 10'])}\r\n`,
    undefined,
  ],
  [
    'sends an ignored body byte by byte',
    () => `${head('GET /user/workspaces', [authorized(), 'Content-Length: 100000'])}\r\n`,
    ' ',
  ],
  [
    'sends a body far above the limit',
    () =>
      `${head('PUT /user/notification-preferences', [authorized(), json, 'Content-Length: 99999999999'])}\r\n`,
    ' '.repeat(200_000),
  ],
  [
    'sends an endless chunked body',
    () =>
      `${head('PUT /user/notification-preferences', [authorized(), json, 'Transfer-Encoding: chunked'])}\r\n`,
    `30D40\r\n${' '.repeat(200_000)}\r\n`,
  ],
];

test.concurrent.each(slowClients)(
  'disconnects a client that %s, even if it never closes, and serves others meanwhile',
  { timeout: MAX_MS },
  async (_what, first, drip) => {
    const connections = await Promise.all(
      Array.from({ length: 3 }, () => openHalfOpenClient(gateway, first(), drip)),
    );

    expect((await rest(gateway, 'GET', '/user/workspaces', { token })).status).toBe(200);
    await Promise.all(connections.map(({ closed }) => closed));
  },
);

test.concurrent.each([
  ['headers', () => head('GET /user/workspaces', []), 'X-A: b\r\n'],
  ['body parts', () => `${put('Content-Length: 100000')}`, ' '],
] as const)(
  'returns 400 to a client whose %s arrive too slowly',
  { timeout: MAX_MS },
  async (_what, first, drip) => {
    const { closed } = await openHalfOpenClient(gateway, first(), drip);

    const text = await closed;
    expect(text).toMatch(/^HTTP\/1.1 400 /);
    expect(JSON.parse(text.slice(text.indexOf('{')))).toEqual({
      error: 'The request took too long to arrive.',
      code: 'bad_request',
      errors: [{ location: 'request', message: 'took too long to arrive', value: null }],
    });
  },
);

test.concurrent('rejects a body whose Content-Length exceeds the limit immediately and only once', {
  timeout: MAX_MS,
}, async () => {
  const { closed } = await openHalfOpenClient(gateway, put('Content-Length: 99999999999'), ' ');

  const text = await closed;
  expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  expect(text).toContain('is larger than 1048576 bytes');
});

test.concurrent.each([
  ['as it is', []],
  ['with Content-Encoding', ['Content-Encoding: gzip']],
])(
  'rejects an endless chunked body %s as soon as it exceeds the limit',
  { timeout: MAX_MS },
  async (_what, encoding) => {
    const lines = [authorized(), json, 'Transfer-Encoding: chunked', ...encoding];
    const start = `${head('PUT /user/notification-preferences', lines)}\r\n`;
    const { closed } = await openHalfOpenClient(gateway, start, `30D40\r\n${' '.repeat(200_000)}\r\n`);

    expect(await closed).toContain('The body is larger than 1048576 bytes.');
  },
);

test.concurrent('replies only once to a request whose body is ignored', { timeout: MAX_MS }, async () => {
  const start = `${head('GET /user/workspaces', [authorized(), 'Content-Length: 100000'])}\r\n`;

  const text = await (await openHalfOpenClient(gateway, start, ' ')).closed;

  expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  expect(text).toContain('{"workspaces":[]}');
});

test.concurrent('closes an idle kept-alive connection', { timeout: MAX_MS }, async () => {
  const start = `${head('GET /user/workspaces', [authorized()])}\r\n`;

  const text = await (await openHalfOpenClient(gateway, start)).closed;

  expect(text.match(/HTTP\/1.1/g)).toHaveLength(1);
  expect(text).toContain('{"workspaces":[]}');
});

test('by default slow clients are disconnected within a minute, and idle connections outlive those of proxies', () => {
  expect(timeouts.headersTimeout).toBeLessThanOrEqual(timeouts.requestTimeout);
  expect(timeouts.requestTimeout + timeouts.connectionsCheckingInterval).toBeLessThan(60_000);
  expect(timeouts.keepAliveTimeout).toBeGreaterThan(60_000);
});
