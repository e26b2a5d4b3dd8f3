import { serverAudits } from 'graphql-http';
import { beforeAll, describe, expect, test } from 'vitest';
import { sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish, readStatuses } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const send = (path: string, init: RequestInit = {}) => {
  const headers = new Headers(init.headers);
  headers.set('Authorization', `Bearer ${token}`);
  return fetch(new URL(path, gateway.address), { ...init, headers });
};
const audits = serverAudits({ url: () => `${gateway.address}/graphql`, fetchFn: send });

test('the GraphQL over HTTP audit has 61 requirements', () => {
  expect(audits).toHaveLength(61);
});

test.each(audits.map((audit) => [audit.id, audit.name, audit] as const))(
  '%s: %s',
  async (_id, _name, audit) => {
    expect(await audit.fn()).toMatchObject({ status: 'ok' });
  },
);

test.each<[message: string, parameters: Record<string, unknown>]>([
  ['parameters.query is required', {}],
  ['parameters.query must be a string', { query: [] }],
  ['parameters.operationName must be a string', { query: '{ __typename }', operationName: 1 }],
  ['parameters.variables must be an object', { query: '{ __typename }', variables: [] }],
  ['parameters.extensions must be an object', { query: '{ __typename }', extensions: 'none' }],
])('reports that %s', async (message, parameters) => {
  const { errors } = await sendParameters(gateway, parameters, { token });

  expect(errors.map((error) => error.message)).toEqual([`Invalid request: ${message}.`]);
});

const post = (body: string) =>
  send('/graphql', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });

test.each([
  '{"query":"{__typename}","__proto__":{}}',
  '{"__proto__":{"query":"{__typename}"}}',
  '{"query":"{__typename}","constructor":1}',
])('rejects members of a body with names of Object.prototype: %s', async (body) => {
  expect((await post(body)).status).toBe(400);
});

test.each([1, 2, 1000])('rejects a batch of %i requests and runs none', async (count) => {
  const user = `batch-${count}`;
  token = await member(user);
  const { id } = await publish(gateway, user);
  const query = `mutation { dismissNotification(input: { id: "${id}" }) { __typename } }`;
  const reply = await post(JSON.stringify(Array(count).fill({ query })));

  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
  expect(await readStatuses(gateway, user)).toEqual({ [id]: 'active' });
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
    const reply = await get({
      query: 'mutation { updateNotificationPreferences(input: { preferences: [] }) { __typename } }',
    });

    expect(reply.status).toBe(405);
    expect(await reply.json()).toMatchObject({ errors: [{ extensions: { code: 'BAD_REQUEST' } }] });
    expect(await gateway.database.sql('select from notification_preference')).toEqual([]);
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
