import fc from 'fast-check';
import { beforeAll, expect, test } from 'vitest';
import { graphql } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const json = 'application/json';
const response = 'application/graphql-response+json';

test.each<[accept: string, type: string | undefined]>([
  ['*/*', json],
  ['application/*', json],
  ['text/html, */*;q=0.1', json],
  [json, json],
  ['Application/JSON', json],
  [response, response],
  [`${response}, ${json};q=0.9`, response],
  [`${json}, ${response}`, json],
  [`${response}; charset=utf-8`, response],
  [`${response}; charset=latin1, ${json}`, json],
  [`text/event-stream, multipart/mixed, ${response}`, response],
  ['text/html', undefined],
])('negotiates the type of a result for Accept: %s as %s', async (accept, type) => {
  const [status, contentType] = await requestType('{ __typename }', accept);
  expect([status, contentType]).toEqual(
    type === undefined ? [406, `${json}; charset=utf-8`] : [200, `${type}; charset=utf-8`],
  );
});

async function requestType(query: string, accept = '*/*'): Promise<[status: number, type: string | null]> {
  const reply = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': json, Accept: accept, Authorization: `Bearer ${token}` },
    body: JSON.stringify({ query }),
  });
  await reply.arrayBuffer();
  return [reply.status, reply.headers.get('Content-Type')];
}

const range = fc
  .tuple(
    fc.constantFrom(
      json,
      response,
      '*/*',
      'application/*',
      '*/json',
      'text/*',
      'text/html',
      'Application/JSON',
      'x',
    ),
    fc.constantFrom('', ';q=0.5', '; charset=utf-8', ';charset=latin1', ' ; q=0'),
  )
  .map((parts) => parts.join(''));

test('successful results have the same content type as failures, for any Accept header', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(range, { minLength: 1, maxLength: 4 }), async (ranges) => {
      const accept = ranges.join(', ');
      const failed = await requestType('{ notification(id: "none") { __typename } }', accept);
      expect(await requestType('{ __typename }', accept)).toEqual(failed);
    }),
    { numRuns: 60 },
  );
});

test.each(['{ __typename }', '{ notification(id: "none") { __typename } }', '{ __typename'])(
  'returns 406 with a body for %s if no result type is accepted',
  async (query) => {
    const reply = await fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': json, Accept: 'text/html', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query }),
    });

    expect([reply.status, reply.headers.get('Content-Type')]).toEqual([406, `${json}; charset=utf-8`]);
    expect(await reply.json()).toEqual({
      errors: [
        {
          message: expect.stringMatching(/^The request must accept /),
          extensions: { code: 'BAD_REQUEST' },
        },
      ],
    });
  },
);

test('does not run a mutation if no result type is accepted', async () => {
  const send = (accept: string) =>
    fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': json, Accept: accept, Authorization: `Bearer ${token}` },
      body: JSON.stringify({
        query:
          'mutation { updateNotificationPreferences(input: { preferences: [ ' +
          '{ emailEnabled: false, pushEnabled: false, chatDmEnabled: false } ] }) { preferences { __typename } } }',
      }),
    });
  const emailOn = async () => {
    const { data } = await graphql(gateway, '{ notificationPreferences { emailEnabled } }', {}, { token });
    return data;
  };

  const before = await emailOn();
  expect((await send('text/html')).status).toBe(406);
  expect(await emailOn()).toEqual(before);
  expect((await send(json)).status).toBe(200);
  expect(await emailOn()).not.toEqual(before);
});

test('a large result is sent as an event stream to a client that accepts nothing else, and is not stored', async () => {
  const summary = 'x'.repeat(60_000);
  const payload = { planRequested: { toolId: 'tool', input: { summary, plan: '' } } };
  for (let number = 1; number <= 20; number += 1)
    await publish(gateway, 'large', 'plan_requested', { payload });
  const query =
    '{ notifications(first: 20) { nodes { ... on PlanRequestedNotification { payload { summary } } } } }';
  for (const size of [1, 20]) {
    const url = new URL('/graphql', gateway.address);
    url.searchParams.set('query', query.replace('20', `${size}`));
    const headers = { Accept: 'text/event-stream', Authorization: `Bearer ${await member('large')}` };
    const reply = await fetch(url, { headers });
    expect(reply.headers.get('Content-Type')).toMatch(/^text\/event-stream/);
    expect(reply.headers.get('Cache-Control')).toBe('no-store');
    const [comment, next, complete, rest] = (await reply.text()).split('\n\n');
    expect([comment, complete, rest]).toEqual([':', 'event: complete\ndata:', '']);
    const [event = '', data = ''] = next?.split('\n') ?? [];
    expect(event).toBe('event: next');
    const { nodes } = JSON.parse(data.slice('data: '.length)).data.notifications;
    expect(nodes).toEqual(Array(size).fill({ payload: { summary } }));
  }
});
