import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { toBodyPath } from '../../rest/binding.ts';
import type { RestRequest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';
import { openUnread, type UnreadConnection } from '../support/unread.ts';

const path = '/user/notification-preferences';
const NO_TYPE = 'must be sent with Content-Type: application/json';
const json = { 'Content-Type': 'application/json' };
/** JSON with a given number of bytes. */
const jsonOfSize = (bytes: number) => `{"preferences":[]${' '.repeat(bytes - 18)}}`;

const gateway = useGateway({ GRAPHIQL: 'true' });
const alice = gateway.as('alice');
const put = (request: RestRequest, caller = alice) => caller.rest.put(path, undefined, request);

/** Sends a body to the GraphQL API, as alice unless the headers say otherwise. */
const postGraphQL = async ({ raw = '', headers }: RestRequest, isAlice = true) =>
  fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { ...headers, ...(isAlice && { Authorization: `Bearer ${await member('alice')}` }) },
    body: raw,
  });

const empty = '{"preferences":[]}';
const asJson = (raw: string | Uint8Array<ArrayBuffer>): RestRequest => ({ raw, headers: json });
const withType = (type: string): RestRequest => ({ raw: empty, headers: { 'Content-Type': type } });
const compressed = (encoding: string, content: Buffer): RestRequest => ({
  raw: new Uint8Array(content),
  headers: { ...json, 'Content-Encoding': encoding },
});

const authorize = async (user = 'alice') => `Authorization: Bearer ${await member(user)}`;

/** A GraphQL request with this many nested levels. */
function nest(levels: number): string {
  const deep = `${'['.repeat(levels - 2)}${']'.repeat(levels - 2)}`;
  return `{"query":"{ __typename }","extensions":{"deep":${deep}}}`;
}

test.each<[what: string, message: string, request: RestRequest]>([
  ['is not JSON', 'is not JSON', asJson('{preferences: []}')],
  ['has a comment', 'is not JSON', asJson(`${empty} // all`)],
  ['is not UTF-8', 'is not UTF-8', asJson(Uint8Array.from([0x7b, 0xff, 0x7d]))],
  ['is empty', 'is empty', asJson('')],
  ['is white space', 'is not JSON', asJson(' ')],
  ['is larger than 1 MiB', 'is larger than 1048576 bytes', asJson(jsonOfSize(1_048_577))],
  [
    'is larger than 1 MiB after inflation',
    'is larger than 1048576 bytes',
    compressed('gzip', gzipSync(jsonOfSize(1_048_577))),
  ],
  ['is not what its Content-Encoding says', 'cannot be read', compressed('gzip', Buffer.from(empty))],
  [
    'has an unsupported Content-Encoding',
    'has an unsupported Content-Encoding',
    compressed('zip', Buffer.from(empty)),
  ],
  ['has an unknown charset', 'must be encoded in UTF-8', withType('application/json; charset=latin1')],
  ['has no Content-Type', NO_TYPE, { raw: new TextEncoder().encode(empty) }],
  ['has another Content-Type', NO_TYPE, withType('text/plain')],
  ['has application/json as prefix of its type', NO_TYPE, withType('application/json-patch+json')],
  ['is nested one level too deeply', 'is nested deeper than 256 levels', asJson(nest(257))],
  ['is nested very deeply', 'is nested deeper than 256 levels', asJson(nest(100_000))],
])('returns 400 for a body that %s, over both APIs', async (_what, message, request) => {
  const errors = [{ location: 'body', message, value: null }];
  const { status, body } = await put(request);
  expect(status).toBe(400);
  expect(body).toEqual({ error: `The body ${message}.`, code: 'bad_request', errors });

  const reply = await postGraphQL(request);
  expect(reply.status).toBe(400);
  const extensions = { code: 'BAD_REQUEST', errors };
  expect(await reply.json()).toEqual({ errors: [{ message: `The body ${message}.`, extensions }] });
});

test.each<[what: string, request: RestRequest]>([
  ['of exactly 1 MiB', asJson(jsonOfSize(1_048_576))],
  ['in br', compressed('br', brotliCompressSync(empty))],
  ['in deflate', compressed('deflate', deflateSync(empty))],
  ['in GZIP', compressed('GZIP', gzipSync(empty))],
  ['in zstd', compressed('zstd', zstdCompressSync(empty))],
  ['in identity', compressed('identity', Buffer.from(empty))],
  ['with a charset', withType('application/json; charset=UTF-8')],
  ['with an upper-case Content-Type', withType('APPLICATION/JSON')],
])('reads a body %s', async (_what, request) => {
  expect((await put(request)).status).toBe(200);
});

test('reads a GraphQL request of 256 levels', async () => {
  expect(await (await postGraphQL(asJson(nest(256)))).json()).toEqual({ data: { __typename: 'Query' } });
});

test('rejects compressed bodies that are invalid just after the limit, and keeps running', async () => {
  // Hardly compressible, so that a position in the content has a position in the compressed body.
  const words = Array.from({ length: 160_000 }, (_, n) => ((n * 2_654_435_761) % 2 ** 32).toString(16));
  const content = words.join('');
  const body = gzipSync(content);
  for (let position = 1_040_000; position < 1_200_000; position += 4000) {
    const start = Math.floor((position / content.length) * body.length);
    const invalid = Buffer.from(body).fill(0xff, start, start + 64);
    expect((await put(compressed('gzip', invalid))).status).toBe(400);
  }
  expect((await put(compressed('gzip', gzipSync(empty)))).status).toBe(200);
});

test.each<[type: string, raw: string]>([
  ['application/json', '{"unknown":'],
  ['text/plain; charset=nonsense', 'text'],
  ['application/json', jsonOfSize(2_000_000)],
])('dismissing, deleting and reading ignore the body: %s', async (type, raw) => {
  const { id } = await publish(gateway, 'alice');
  const sent = { raw, headers: { 'Content-Type': type } };

  expect((await alice.rest.post(`/user/notifications/${id}/dismiss`, undefined, sent)).status).toBe(200);
  expect((await alice.rest.delete('/editor/auth', sent)).status).toBe(204);
  const lines = [await authorize(), `Content-Type: ${type}`, `Content-Length: ${raw.length}`];
  expect((await sendRaw(gateway, rawRequest('GET /user/workspaces', lines, raw))).status).toBe(200);
});

const introspection = '{"query":"{ __schema { __typename } }"}';

test('without a token, a body has at most 16 KiB and is not compressed', async () => {
  const send = async (request: RestRequest) => (await postGraphQL(request, false)).status;

  expect(await send(asJson(introspection.padEnd(16_384)))).toBe(200);
  expect(await send(asJson(introspection.padEnd(16_385)))).toBe(401);
  expect(await send(compressed('gzip', gzipSync(introspection)))).toBe(401);
});

/** Begins requests of whose bodies the last byte is missing, or all. */
async function beginBodies(
  count: number,
  bytes: number,
  user?: string,
  arrived = bytes - 1,
): Promise<UnreadConnection[]> {
  const lines = ['Content-Type: application/json', `Content-Length: ${bytes}`];
  const body = ' '.repeat(arrived);
  const request =
    user === undefined
      ? rawRequest('POST /graphql', lines, body)
      : rawRequest(`PUT ${path}`, [await authorize(user), ...lines], body);
  return Promise.all(Array.from({ length: count }, () => openUnread(gateway, request)));
}

/**
 * Waits until a reply has this status and `Retry-After: 1`. Until then, `begin` begins another body: what is sent takes
 * memory too, so that one of the unfinished bodies may have been refused.
 */
const awaitRefusal = (
  send: () => Promise<{ status: number; headers: Headers }>,
  expected: number,
  begin?: () => Promise<void>,
) =>
  eventually(async () => {
    const { status, headers } = await send();
    if (status === 200) await begin?.();
    expect([status, headers.get('Retry-After')]).toEqual([expected, '1']);
  });
const putEmpty = () => put(asJson(empty));
/** Takes all that is left, because others may take some bytes less than the limit. */
const putFull = () => put(asJson(jsonOfSize(1_048_576)));
const awaitServed = () => eventually(async () => expect((await putEmpty()).status).toBe(200));

test('a caller whose unfinished bodies have 2 MiB receives 429 until they end; others do not', async () => {
  const connections = await beginBodies(2, 1_048_576, 'alice');

  await awaitRefusal(putFull, 429, async () => {
    connections.push(...(await beginBodies(1, 1_048_576, 'alice')));
  });
  await awaitRefusal(() => postGraphQL(asJson('{"query":"{ __typename }"}'.padEnd(1_048_576))), 429);
  expect((await put(asJson(empty), gateway.as('bob'))).status).toBe(200);

  for (const connection of connections) connection.close();
  await awaitServed();
});

test('a body counts as it arrives: what was announced keeps nobody out', async () => {
  const announced = await beginBodies(100, 1_048_576, 'alice', 0);
  expect((await putEmpty()).status).toBe(200);

  const unsent = announced.values();
  const sendOne = async () => unsent.next().value?.send(jsonOfSize(1_048_575));
  await sendOne();
  await awaitRefusal(putFull, 429, sendOne);
  for (const connection of announced) connection.close();
  await awaitServed();
});

test('a chunked body counts as it grows, and is released when it ends', async () => {
  const lines = [await authorize(), 'Content-Type: application/json', 'Transfer-Encoding: chunked'];
  const body = jsonOfSize(1_048_576);
  const request = rawRequest(`PUT ${path}`, lines, `${body.length.toString(16)}\r\n${body}\r\n`);
  const connections = await Promise.all([openUnread(gateway, request), openUnread(gateway, request)]);

  await awaitRefusal(putEmpty, 429);
  for (const connection of connections) connection.send('0\r\n\r\n');
  for (const connection of connections) expect(await connection.readAll()).toContain('HTTP/1.1 200');
  expect((await put(asJson(body))).status).toBe(200);
});

test('callers without a token whose unfinished bodies have 8 MiB receive 429 together; others do not', async () => {
  const connections = await beginBodies(512, 16_384);

  const sendFull = () => postGraphQL(asJson(introspection.padEnd(16_384)), false);
  await awaitRefusal(sendFull, 429, async () => {
    connections.push(...(await beginBodies(1, 16_384)));
  });
  expect((await putEmpty()).status).toBe(200);
  for (const connection of connections) connection.close();
});

test('replies with 500 and Retry-After while the unfinished bodies of all callers have 64 MiB', async () => {
  const bodies = Array.from({ length: 32 }, (_, n) => beginBodies(2, 1_048_576, `caller-${n}`));
  const connections = (await Promise.all(bodies)).flat();

  await awaitRefusal(putFull, 500, async () => {
    connections.push(...(await beginBodies(1, 1_048_576, `caller-${connections.length}`)));
  });
  for (const connection of connections) connection.close();
  await awaitServed();
});

test.each(['POST /graphql', `PUT ${path}`])(
  '%s without Content-Length and Transfer-Encoding has an empty body',
  async (start) => {
    const lines = [await authorize(), 'Content-Type: application/json'];
    const { status, text } = await sendRaw(gateway, rawRequest(start, lines));
    expect([status, text]).toEqual([400, expect.stringContaining('The body is empty.')]);
  },
);

const item = { email_enabled: true, push_enabled: true, chat_dm_enabled: true };
type Item = [location: string, message: string, value: unknown];

test.each<[what: string, raw: string, ...items: Item[]]>([
  ['null', 'null', ['body', 'must be an object', null]],
  ['an array', '[]', ['body', 'must be an object', []]],
  ['an object without the property', '{}', ['body.preferences', 'is required', null]],
  ['an object in place of an array', '{"preferences":{}}', ['body.preferences', 'must be an array', {}]],
  [
    'an array with an item that is null',
    '{"preferences":[null]}',
    ['body.preferences[0]', 'must be an object', null],
  ],
  [
    'an array with an item without properties',
    '{"preferences":[{}]}',
    ['body.preferences[0].email_enabled', 'is required', null],
    ['body.preferences[0].push_enabled', 'is required', null],
    ['body.preferences[0].chat_dm_enabled', 'is required', null],
  ],
  [
    'an array of items with wrong types, an unknown enum value and an unknown property',
    JSON.stringify({
      preferences: [
        { ...item, email_enabled: 'true', push_enabled: null },
        { ...item, notification_kind: 'PLAN_REQUESTED', sms_enabled: 1 },
        { ...item, chat_dm_enabled: 0, notification_kind: null, user_id: 7 },
      ],
      more: [],
    }),
    ['body.preferences[0].email_enabled', 'must be a boolean', 'true'],
    ['body.preferences[0].push_enabled', 'must be a boolean', null],
    [
      'body.preferences[1].notification_kind',
      'must be one of plan_requested, question_requested, task_failed, task_response_ready',
      'PLAN_REQUESTED',
    ],
    ['body.preferences[1].sms_enabled', 'is not a known property', 1],
    ['body.preferences[2].chat_dm_enabled', 'must be a boolean', 0],
    ['body.preferences[2].user_id', 'must be a string', 7],
    ['body.more', 'is not a known property', []],
  ],
  [
    'an object with long keys, which are cut after 100 characters',
    JSON.stringify({ preferences: [], ['x'.repeat(100)]: 1, ['x'.repeat(101)]: 2 }),
    [`body.${'x'.repeat(100)}`, 'is not a known property', 1],
    [`body.${'x'.repeat(100)}…`, 'is not a known property', 2],
  ],
  [
    'an object with the keys __proto__ and constructor',
    '{"preferences":[{"__proto__":{"email_enabled":true},"push_enabled":true,"chat_dm_enabled":true}],"constructor":{}}',
    ['body.preferences[0].email_enabled', 'is required', null],
    ['body.preferences[0].__proto__', 'is not a known property', { email_enabled: true }],
    ['body.constructor', 'is not a known property', {}],
  ],
])('returns 422 with every error for a body that is %s', async (_what, raw, ...items) => {
  const { status, body } = await put(asJson(raw));
  expect(status).toBe(422);
  expect(body.errors).toEqual(items.map(([location, message, value]) => ({ location, message, value })));
});

test('returns at most 100 errors', async () => {
  const { body } = await put(asJson(`{"preferences":[${Array(100).fill('{}').join()}]}`));

  expect(body.error).toBe('Invalid request: body.preferences[0].email_enabled is required (and 99 more).');
  expect(body.errors).toHaveLength(100);
  expect(body.errors.at(-1).location).toBe('body.preferences[33].email_enabled');
});

test('rejects an array that is too long without validating its items', async () => {
  const { body } = await put(asJson(`{"preferences":[${Array(20_000).fill('1').join()}]}`));

  expect(body.error).toBe('Invalid request: body.preferences must have at most 100 items.');
  expect(body.errors).toEqual([
    { location: 'body.preferences', message: 'must have at most 100 items', value: '[array of 20000 items]' },
  ]);
});

test('the path of an argument has the names of the body, except inside arbitrary JSON', () => {
  const shape = z.strictObject({
    parts: z.array(z.strictObject({ part_name: z.string() })).nullable(),
    foreign_json: z.looseObject({}),
  });
  expect(toBodyPath(shape, ['parts', 3, 'partName'])).toEqual(['parts', 3, 'part_name']);
  expect(toBodyPath(shape, ['foreignJson', 'someKey'])).toEqual(['foreign_json', 'someKey']);
});
