import { serverAudits } from 'graphql-http';
import { describe, expect, test } from 'vitest';
import { createGraphQLServer } from '../../src/graphql/server.ts';
import { schema } from '../../src/schema.ts';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;
/** Expects that no preferences were stored: no mutation ran. */
const expectNothingStored = async () =>
  expect(await gateway.database.sql('select from notification_preference')).toEqual([]);

const send = async (path: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${await member('alice')}`);
  return fetch(new URL(path, gateway.address), { ...init, headers });
};
const audits = serverAudits({ url: () => `${gateway.address}/graphql`, fetchFn: send });

test.each(audits)('$id of the GraphQL over HTTP audit: $name', async (audit) => {
  expect(await audit.fn()).toMatchObject({ status: 'ok' });
});

const post = (body: string, Accept = '*/*') =>
  send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json', Accept }, body });
const update = 'mutation { updateNotificationPreferences(input: { preferences: [] }) { __typename } }';

test.each([
  '{"query":"{__typename}","__proto__":{}}',
  '{"__proto__":{"query":"{__typename}"}}',
  '{"query":"{__typename}","constructor":1}',
])('rejects members of a body with names of Object.prototype: %s', async (body) => {
  expect((await post(body)).status).toBe(400);
});

test.each([1, 2, 1000])('rejects a batch of %i requests and runs none', async (count) => {
  const reply = await post(JSON.stringify(Array(count).fill({ query: update })));

  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
  await expectNothingStored();
});

describe('GET', () => {
  const get = (parameters: Record<string, string>) => send(`/graphql?${new URLSearchParams(parameters)}`);

  test('accepts queries with variables, and forbids caching', async () => {
    const query = 'query ($id: ID!) { workspaces(filter: { projectIds: [$id] }) { totalCount } }';
    const reply = await get({ query, variables: '{"id":"what?"}' });

    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(await reply.json()).toEqual({ data: { workspaces: { totalCount: 0 } } });
  });

  test('returns 405 for a mutation, and changes nothing', async () => {
    const reply = await get({ query: update });

    expect(reply.status).toBe(405);
    expect(await reply.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    await expectNothingStored();
  });

  test.each(['variables', 'extensions'])('returns BAD_REQUEST for %s that are not JSON', async (name) => {
    const reply = await get({ query: '{ __typename }', [name]: '{' });

    expect(reply.status).toBe(400);
    expect(await reply.json()).toMatchObject({
      errors: [{ extensions: { code: 'BAD_REQUEST', errors: [{ location: `query.${name}` }] } }],
    });
  });
});

test('returns 406 with a body for a subscription that does not accept event streams', async () => {
  const query = 'subscription { editorAuthEvents { editorAuth { needsReauth } } }';
  const { status, errors } = await as('alice').graphql(query);

  expect(status).toBe(406);
  expect(errors[0].message).toBe('A subscription requires a request that accepts text/event-stream.');
});

const json = 'application/json';
const response = 'application/graphql-response+json';
const missing = '{ notification(id: "none") { __typename } }';

test.each<[accept: string, type: string | undefined]>([
  ['*/*', json],
  ['application/*', json],
  ['text/html, */*;q=0.1', json],
  ['Application/JSON', json],
  [response, response],
  [`${response}, ${json};q=0.9`, response],
  [`${json}, ${response}`, json],
  [`${response}; charset=utf-8`, response],
  [`${response}; charset=latin1, ${json}`, json],
  [`text/event-stream, multipart/mixed, ${response}`, response],
  ['text/html', undefined],
])('negotiates the type of successful and failed results for Accept: %s as %s', async (accept, type) => {
  for (const query of ['{ __typename }', missing, ...(type === undefined ? ['{ __typename', update] : [])]) {
    const reply = await post(JSON.stringify({ query }), accept);
    expect(reply.headers.get('Content-Type')).toBe(`${type ?? json}; charset=utf-8`);
    if (type !== undefined) continue;
    const message = expect.stringMatching(/^The request must accept /);
    expect([reply.status, await reply.json()]).toEqual([
      406,
      { errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] },
    ]);
    await expectNothingStored();
  }
});

test('a large result is sent as an event stream to a client that accepts nothing else, and is not stored', async () => {
  const summary = 'x'.repeat(60_000);
  const payload = { planRequested: { toolId: 'tool', input: { summary, plan: '' } } };
  for (let count = 0; count < 20; count += 1) await publish(gateway, 'alice', 'plan_requested', { payload });
  const plans = '{ nodes { ... on PlanRequestedNotification { payload { summary } } } }';
  for (const size of [1, 20]) {
    const query = encodeURIComponent(`{ notifications(first: ${size}) ${plans} }`);
    const reply = await send(`/graphql?query=${query}`, { headers: { Accept: 'text/event-stream' } });
    expect(reply.headers.get('Content-Type')).toMatch(/^text\/event-stream/);
    expect(reply.headers.get('Cache-Control')).toBe('no-store');
    const [comment, next = '', complete, rest] = (await reply.text()).split('\n\n');
    expect([comment, complete, rest]).toEqual([':', 'event: complete\ndata:', '']);
    const [event, data = ''] = next.split('\n');
    expect(event).toBe('event: next');
    const { nodes } = JSON.parse(data.slice('data: '.length)).data.notifications;
    expect(nodes).toEqual(Array(size).fill({ payload: { summary } }));
  }
});

/** Returns what Yoga keeps of a document: the parsed one, or the error with which parsing fails. */
function createParser(): (text: string) => unknown {
  const yoga = createGraphQLServer(schema);
  return (text) => {
    try {
      return yoga.getEnveloped({}).parse(text);
    } catch (error) {
      return error;
    }
  };
}

test.each<[what: string, count: number, create: (index: number) => string]>([
  ['many documents', 300, (index) => `query Q${index} { workspaces { totalCount } } #`.padEnd(1000)],
  ['a few of the maximum length', 4, (index) => `query Q${index} { __typename } #`.padEnd(65_536)],
  ['a few invalid ones of the maximum length', 4, (index) => `{ ${index}`.padEnd(65_536)],
])('documents are cached by their whole text, and the oldest of %s is evicted', (_what, count, create) => {
  const parse = createParser();
  const first = parse(create(0));
  expect(parse(create(0))).toBe(first);
  expect(parse(`${create(0).trimEnd()}\t`)).not.toBe(first);
  for (let index = 1; index < count; index += 1) parse(create(index));
  expect(parse(create(0))).not.toBe(first);
});
