import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();

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
  const expected = { status: type === undefined ? 406 : 200, type: `${type ?? json}; charset=utf-8` };
  expect(await send('{ __typename }', accept)).toMatchObject(expected);
});

async function send(query: string, accept: string) {
  const reply = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': json, Accept: accept, Authorization: `Bearer ${await member('alice')}` },
    body: JSON.stringify({ query }),
  });
  return { status: reply.status, type: reply.headers.get('Content-Type'), text: await reply.text() };
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
      const { status, type } = await send('{ notification(id: "none") { __typename } }', accept);
      expect(await send('{ __typename }', accept)).toMatchObject({ status, type });
    }),
    { numRuns: 60 },
  );
});

test.each(['{ __typename }', '{ notification(id: "none") { __typename } }', '{ __typename'])(
  'returns 406 with a body for %s if no result type is accepted',
  async (query) => {
    const message = expect.stringMatching(/^The request must accept /);
    const { status, type, text } = await send(query, 'text/html');
    expect([status, type]).toEqual([406, `${json}; charset=utf-8`]);
    expect(JSON.parse(text)).toEqual({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
  },
);

test('does not run a mutation if no result type is accepted', async () => {
  const update =
    'mutation { updateNotificationPreferences(input: { preferences: [{ emailEnabled: false }] }) { __typename } }';
  const isEmailOn = async () => (await gateway.as('alice').preferences())[0]?.emailEnabled;

  expect((await send(update, 'text/html')).status).toBe(406);
  expect(await isEmailOn()).toBe(true);
  expect((await send(update, json)).status).toBe(200);
  expect(await isEmailOn()).toBe(false);
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
