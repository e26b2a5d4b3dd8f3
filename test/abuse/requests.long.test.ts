import { getIntrospectionQuery } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { settingsFor } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/process.ts';
import { payloads, workspaceInput } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';
import { measureMemoryMiB, measureProcessorTime, useMeasuredGateway } from './measured-gateway.ts';

/*
 * Requests that are designed to cost the gateway far more than their sender. Processor time is limited relative to a
 * plain request of the same run; the size of the reply and memory are limited too.
 */

const gateway = useMeasuredGateway({ GRAPHIQL: 'true' });
let tokens: Readonly<Record<Caller, string>>;
/** Processor time of a plain request, in milliseconds. */
let plainMs: number;

type Caller = 'member' | 'service';

beforeAll(async () => {
  tokens = { member: await member('mallory'), service: await platform() };
  await measureProcessorTime(gateway, 100, plain);
  plainMs = await measureProcessorTime(gateway, 200, plain);
});

const plain = () => postDocument('member', '{ editorAuth { needsReauth } }');
const postDocument = (caller: Caller, query: string) => post('/graphql', caller, JSON.stringify({ query }));

async function post(path: string, caller: Caller, body: string, method = 'POST') {
  const response = await fetch(`${gateway.address}${path}`, {
    method,
    headers: {
      'Content-Type': 'application/json',
      Authorization: `Bearer ${tokens[caller]}`,
    },
    body,
  });
  return { status: response.status, text: await response.text() };
}

const repeat = (count: number, make: (index: number) => string, separator = ' ') =>
  Array.from({ length: count }, (_none, index) => make(index)).join(separator);

const name = (length: number) => `N${'a'.repeat(length - 1)}`;
const variables100 = `(${repeat(100, (i) => `$v${i}: Int`)})`;
/** A mutation with an input. */
const mutate = (field: string, type: string) =>
  `mutation ($input: ${type}Input!) { ${field}(input: $input) { __typename } }`;
const PUBLISH = mutate('publishNotification', 'PublishNotification');
const UPDATE = mutate('updateNotificationPreferences', 'UpdateNotificationPreferences');
const PUT = mutate('putWorkspaces', 'PutWorkspaces');
const publish = (payload: object) => {
  return { input: { userId: 'mallory', task: { id: 't', projectId: 'p' }, title: 'T', payload } };
};
const publishPlan = (input: object) => publish({ planRequested: { toolId: 'tool', input } });
const manyKeys = () => Object.fromEntries(Array.from({ length: 60_000 }, (_none, i) => [`key${i}`, i]));
const list = <Item>(length: number, item: Item): Item[] => Array<Item>(length).fill(item);
const dismissals = (count: number) =>
  `mutation ($ids: [ID!]) { ${repeat(count, (i) => `a${i}: dismissNotifications(input: { ids: $ids }) { __typename }`)} }`;

type Attack = { what: string; caller?: Caller; query: string; variables?: () => unknown };

/** Documents. Without a token, they are rejected for its lack after the same steps, or earlier. */
const documents: Attack[] = [
  {
    what: 'a megabyte of line breaks and 100 unused variables',
    query: `query ${variables100} {${'\n'.repeat(1_000_000)} __typename }`,
  },
  {
    what: 'one variable a thousand times, behind line breaks',
    query: `query (${repeat(1000, () => '$v: Int')}) {${'\n'.repeat(50_000)} __typename }`,
  },
  {
    what: 'an operation name of 0.9 MB and 100 unused variables',
    query: `query ${name(900_000)} ${variables100} { __typename }`,
  },
  { what: 'unknown fields with long names', query: `{ ${repeat(20, (i) => name(3000 + i))} }` },
  {
    what: 'a thousand conflicting fields',
    query: `{ workspaces { nodes { ${repeat(1000, (i) => `a: ${i % 2 ? 'id' : 'status'}`)} } } }`,
  },
  {
    what: 'fragments that spread each other',
    query: `{ ${repeat(600, (i) => `...F${i}`)} } ${repeat(600, (i) => `fragment F${i} on Query { ...F${(i + 1) % 600} }`)}`,
  },
  {
    what: '430 operations over a chain of 300 fragments',
    query: `${repeat(430, (i) => `query Q${i} { ...F0 }`)} ${repeat(300, (i) => `fragment F${i} on Query { ...F${i + 1} }`)} fragment F300 on Query { __typename }`,
  },
  { what: 'an unterminated block string', query: `{ a(b: """${'"" '.repeat(20_000)} }` },
  { what: 'unterminated strings', query: `{ a ${'"\n'.repeat(30_000)} }` },
];

const inputs: Attack[] = [
  {
    what: 'a list of 250,000 IDs under 20 aliases',
    query: dismissals(20),
    variables: () => ({ ids: list(250_000, 'a') }),
  },
  {
    what: 'a list of 60,000 bad IDs',
    query: dismissals(1),
    variables: () => ({ ids: list(60_000, '\u0000') }),
  },
  {
    what: '340,000 empty preferences',
    query: UPDATE,
    variables: () => ({ input: { preferences: list(340_000, {}) } }),
  },
  {
    what: 'unknown fields of an input',
    query: UPDATE,
    variables: () => ({ input: manyKeys() }),
  },
  {
    what: 'a cursor of 0.9 MB under 20 aliases',
    query: `query ($after: String) { ${repeat(20, (i) => `a${i}: workspaces(after: $after) { totalCount }`)} }`,
    variables: () => ({ after: 'a'.repeat(900_000) }),
  },
  {
    what: 'wrong keys of a JSON input',
    caller: 'service',
    query: PUBLISH,
    variables: () => publishPlan({ [`${'k'.repeat(400_000)}\u0000`]: 1, summary: 1 }),
  },
  {
    what: 'a thousand JSON values that cannot be stored, below a long key',
    caller: 'service',
    query: PUBLISH,
    variables: () => publishPlan({ ['k'.repeat(100_000)]: list(1000, '\u0000') }),
  },
  {
    what: '300,000 wrong questions',
    caller: 'service',
    query: PUBLISH,
    variables: () =>
      publish({ questionRequested: { toolId: 'tool', input: { questions: list(300_000, 1) } } }),
  },
  {
    what: '501 workspaces with preview tokens',
    caller: 'service',
    query: PUT,
    variables: () => ({
      input: { userId: 'mallory', workspaces: list(501, workspaceInput({ previewToken: 'PREVIEW-TOKEN' })) },
    }),
  },
  {
    what: '500 workspaces with an error each',
    caller: 'service',
    query: PUT,
    variables: () => {
      const wrong = workspaceInput({ id: 'no', gitRef: 'x'.repeat(1000), cpus: 1 });
      return { input: { userId: 'mallory', workspaces: list(500, wrong) } };
    },
  },
  {
    what: 'both payloads, of half a megabyte',
    caller: 'service',
    query: PUBLISH,
    variables: () =>
      publish({ ...payloads.task_failed, ...payloads.plan_requested, other: 'x'.repeat(500_000) }),
  },
];

const MAX_REPLY_BYTES = 128 * 1024 + 4096;

const overGraphQL = [...documents, ...inputs].map(({ what, caller = 'member', query, variables }) => ({
  what,
  prepare: () => {
    const body = JSON.stringify({ query, variables: variables?.() });
    return () => post('/graphql', caller, body);
  },
}));
const overRest = [
  { what: '340,000 empty preferences over REST', body: { preferences: list(340_000, {}) } },
  {
    what: '100 wrong preferences with long values over REST',
    body: { preferences: list(100, { email_enabled: 'x'.repeat(9000) }) },
  },
  { what: 'unknown properties over REST', body: manyKeys() },
].map(({ what, body }) => ({
  what,
  prepare: () => {
    const text = JSON.stringify(body);
    return () => post('/user/notification-preferences', 'member', text, 'PUT');
  },
}));

test.each([...overGraphQL, ...overRest])(
  'rejects $what within the limits of processor time and reply size',
  async ({ prepare }) => {
    const send = prepare();
    const reply = await send();
    const ms = await measureProcessorTime(gateway, 1, send);

    expect(reply.status).toBeLessThan(500);
    expect(reply.text).toMatch(/"errors":\[\{/);
    expect(reply.text).not.toContain('PREVIEW-TOKEN');
    expect(Buffer.byteLength(reply.text)).toBeLessThan(MAX_REPLY_BYTES);
    // The remaining cost is mostly parsing a body of one megabyte.
    expect(ms / plainMs).toBeLessThan(300);
  },
);

const fields = 'id title status kind createdAt updatedAt occurredAt';
const oneNotification = (index: number) =>
  `query Q${index} { notifications(first: 1) { nodes { ... on UserNotification { ${fields} } } } }`;
const introspect = (index: number) =>
  getIntrospectionQuery({ typeDepth: 7 }).replace('IntrospectionQuery', `Introspection${index}`);

test.each([
  ['250 unique documents, some sent often enough to be compiled', 250, 5, oneNotification],
  ['unique introspection queries', 10, 1, introspect],
])('uses less than 50 MiB for %s', async (_what, count, repeated, create) => {
  const used = await measureMemoryMiB(gateway, async () => {
    for (let index = 0; index < count; index += 1) {
      const again = index % repeated === 0 ? 12 : 1;
      const sending = Array.from({ length: again }, () => postDocument('member', create(index)));
      for (const { status } of await Promise.all(sending)) expect(status).toBe(200);
    }
  });
  expect(used).toBeLessThan(50);
});

test('rejects bodies of a megabyte over the rate limit at low cost, before it reads them', async () => {
  const limits = { RATE_LIMIT_WRITES_PER_MINUTE: '1', RATE_LIMIT_READS_PER_MINUTE: '1' };
  const limited = await startGatewayProcess({ ...settingsFor(gateway.database), ...limits });
  const token = await member('limited');
  const body = JSON.stringify({ preferences: list(340_000, {}) });
  const send = async (method: string, path: string) => {
    const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` };
    const response = await fetch(`${limited.address}${path}`, { method, headers, body });
    await response.body?.cancel();
    return response.status;
  };
  expect(await send('PUT', '/user/notification-preferences')).toBe(422);
  expect(await send('POST', '/graphql')).toBe(400);

  const ms = await measureProcessorTime(limited, 10, async () => {
    expect(await send('PUT', '/user/notification-preferences')).toBe(429);
    expect(await send('POST', '/graphql')).toBe(429);
  });

  // Receiving a body costs two to four plain requests. Parsing it as well costs more than twenty.
  expect(ms / 2 / plainMs).toBeLessThan(15);
  await limited.stop();
});
