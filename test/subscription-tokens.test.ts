import { afterAll, beforeAll, expect, test } from 'vitest';
import { badTokens } from './support/bad-tokens.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { buildDocument, isSubscription, rootFields } from './support/root-fields.ts';
import { openStream, subscribe } from './support/sse.ts';
import { member } from './support/tokens.ts';

const fields = Object.keys(rootFields).filter(isSubscription);
/** One of every way in which a token does not hold; all of them are tried on the other operations. */
const named = [
  'expired',
  'is signed by a stranger’s key',
  'has the algorithm none',
  'has another audience',
  'has no subject',
  'has a number as scope',
];
const attacks = badTokens.filter(([what]) => named.includes(what));

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({ MAX_SUBSCRIBERS: '1', GRAPHIQL: 'true' });
});
afterAll(() => gateway.close());

test('every subscription and every kind of attack is tried here', () => {
  expect(fields.sort()).toEqual(['editorAuthEvents', 'notificationEvents', 'workspaceEvents']);
  expect(attacks.map(([what]) => what).sort()).toEqual(named.toSorted());
});

const cases = fields.flatMap((field) => attacks.map(([what, make]) => ({ field, what, make })));

test.each(cases)('$field with a token that $what is a 401 without a stream', async ({ field, make }) => {
  const reply = await subscribe(gateway, buildDocument(field, {}), {}, { token: await make() });

  expect([reply.status, reply.stream]).toEqual([401, undefined]);
  expect(reply.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  expect(reply.errors).toEqual([
    { message: 'A valid bearer token is required.', extensions: { code: 'UNAUTHENTICATED' } },
  ]);
});

test.each(fields)(
  '%s without a token is a 401 without a stream, introspection beside it or not',
  async (field) => {
    const document = buildDocument(field, {});
    for (const query of [document, `${document} query Other { __typename }`]) {
      const reply = await subscribe(gateway, query);
      expect([reply.status, reply.stream, reply.headers.get('www-authenticate')]).toEqual([
        401,
        undefined,
        'Bearer',
      ]);
    }
  },
);

test.each(fields)('%s by GET needs the token in the header too', async (field) => {
  const address = new URL(`${gateway.address}/graphql`);
  address.search = new URLSearchParams({
    query: buildDocument(field, {}),
    access_token: await member('alice'),
  }).toString();

  const response = await fetch(address, { headers: { Accept: 'text/event-stream' } });

  expect(response.status).toBe(401);
  await response.text();
});

test.each([
  ['an argument that there is not', 'subscription { workspaceEvents(userId: "bob") { workspaceId } }'],
  ['the user of another', 'subscription { notificationEvents(userId: "bob") { cursor } }'],
  [
    'two subscriptions at once',
    'subscription { workspaceEvents { workspaceId } editorAuthEvents { editorAuth { needsReauth } } }',
  ],
  ['a cursor that is a number', 'subscription { notificationEvents(after: 1) { cursor } }'],
])('%s: the stream tells the error and ends', async (_what, query) => {
  const stream = await openStream(gateway, query, {}, { token: await member('alice') });

  expect((await stream.take()).errors[0].extensions.code).toBe('BAD_REQUEST');
  expect(await stream.ended).toBe('complete');
});

test('a variable of the wrong type is told as such', async () => {
  const query = 'subscription ($after: String) { notificationEvents(after: $after) { cursor } }';

  const stream = await openStream(gateway, query, { after: { a: 1 } }, { token: await member('alice') });

  expect((await stream.take()).errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'after' }],
  });
  expect(await stream.ended).toBe('complete');
});

test('none of all this took a place', async () => {
  const reply = await subscribe(
    gateway,
    buildDocument('workspaceEvents', {}),
    {},
    { token: await member('alice') },
  );

  expect(reply.status).toBe(200);
  reply.stream?.close();
});
