import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { buildDocument, isSubscription, rootFields } from '../support/root-fields.ts';
import { openStream, subscribe } from '../support/sse.ts';
import { member } from '../support/tokens.ts';
import { badTokens } from './bad-tokens.ts';

const fields = Object.keys(rootFields).filter(isSubscription);
/** One token of each kind of invalid token; other tests use all of them. */
const names = [
  'expired',
  'is signed with an unknown key',
  'uses the algorithm none',
  'has another audience',
  'has no subject',
  'has 1 as scope',
];
const attacks = badTokens.filter(([what]) => names.includes(what));

const gateway = useGateway({ MAX_SUBSCRIBERS: '1', GRAPHIQL: 'true' });

test('covers every subscription field and every selected kind of invalid token', () => {
  expect(fields.sort()).toEqual([
    'accountEvents',
    'editorAuthEvents',
    'notificationEvents',
    'subscription platformEvents',
    'workspaceEvents',
  ]);
  expect(attacks.map(([what]) => what).sort()).toEqual(names.toSorted());
});

const cases = fields.flatMap((field) => attacks.map(([what, make]) => ({ field, what, make })));

test.each(cases)('$field returns 401 without a stream for a token that $what', async ({ field, make }) => {
  const reply = await subscribe(gateway, buildDocument(field, {}), {}, { token: await make() });

  expect([reply.status, reply.stream]).toEqual([401, undefined]);
  expect(reply.headers.get('www-authenticate')).toBe('Bearer error="invalid_token"');
  expect(reply.errors).toEqual([
    { message: 'A valid bearer token is required.', extensions: { code: 'UNAUTHENTICATED' } },
  ]);
});

test.each(fields)(
  '%s without a token returns 401 without a stream, with or without introspection',
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

test.each(fields)('%s by GET requires the token in the header', async (field) => {
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
  ['an unknown argument', 'subscription { workspaceEvents(owner: "bob") { workspaceId } }'],
  [
    'two root fields',
    'subscription { workspaceEvents { workspaceId } editorAuthEvents { editorAuth { needsReauth } } }',
  ],
  ['a numeric cursor', 'subscription { notificationEvents(after: 1) { cursor } }'],
])('the stream returns an error and ends for %s', async (_what, query) => {
  const stream = await openStream(gateway, query, {}, { token: await member('alice') });

  expect((await stream.take()).errors[0].extensions.code).toBe('BAD_REQUEST');
  expect(await stream.ended).toBe('complete');
});

test('the stream returns VALIDATION_FAILED for a variable of the wrong type', async () => {
  const query = 'subscription ($after: String) { notificationEvents(after: $after) { cursor } }';

  const stream = await openStream(gateway, query, { after: { a: 1 } }, { token: await member('alice') });

  expect((await stream.take()).errors[0].extensions).toMatchObject({
    code: 'VALIDATION_FAILED',
    errors: [{ location: 'after' }],
  });
  expect(await stream.ended).toBe('complete');
});

test('rejected subscriptions use no slot', async () => {
  const reply = await subscribe(
    gateway,
    buildDocument('workspaceEvents', {}),
    {},
    { token: await member('alice') },
  );

  expect(reply.status).toBe(200);
  reply.stream?.close();
});
