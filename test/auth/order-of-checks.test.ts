import { expect, test } from 'vitest';
import { graphql, type RestRequest, rest } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { member, signToken } from '../support/tokens.ts';

/*
 * Route (404), token (401), permission (403), rate limit (429), syntax (400), shape (422), rules (422), record (404):
 * a request that fails two successive checks gets the error of the earlier one.
 */

const preferences = '/user/notification-preferences';
const json = { 'Content-Type': 'application/json' };
const notJson = { raw: '{', headers: json };

const WRITES = 4;

const gateway = useGateway({
  RATE_LIMIT_READS_PER_MINUTE: '1000',
  RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
});

const unpermitted = () => signToken({ sub: 'alice', org_id: 'acme', scope: 'account:read' });
const withoutMembership = () => signToken({ sub: 'alice' });

/** Signs a token of a member whose write limit is exhausted. */
async function signLimited(): Promise<string> {
  const token = await member('limited');
  const write = () => rest(gateway, 'PUT', preferences, { token, body: { preferences: [] } });
  for (let count = 0; count <= WRITES; count += 1) {
    if ((await write()).status === 429) return token;
  }
  throw new Error('The write limit does not reject anything.');
}

type Pair = {
  pair: string;
  method: string;
  path: string;
  token?: () => Promise<string>;
  sent?: RestRequest;
  expected: [status: number, code: string];
};

test.each<Pair>([
  { pair: 'route before token', method: 'GET', path: '/nowhere', expected: [404, 'not_found'] },
  {
    pair: 'token before permission and syntax',
    method: 'PUT',
    path: preferences,
    token: () => signToken({ sub: 'alice', scope: '', exp: 1 }),
    sent: notJson,
    expected: [401, 'unauthenticated'],
  },
  {
    pair: 'scope before syntax',
    method: 'PUT',
    path: preferences,
    token: unpermitted,
    sent: notJson,
    expected: [403, 'forbidden'],
  },
  {
    pair: 'membership before syntax',
    method: 'PUT',
    path: preferences,
    token: withoutMembership,
    sent: notJson,
    expected: [403, 'org_membership_required'],
  },
  {
    pair: 'scope before an undecodable path',
    method: 'POST',
    path: '/user/notifications/%FF/dismiss',
    token: unpermitted,
    expected: [403, 'forbidden'],
  },
  {
    pair: 'syntax before shape',
    method: 'PUT',
    path: preferences,
    token: () => member('alice'),
    sent: { raw: '{"preferences": null', headers: json },
    expected: [400, 'bad_request'],
  },
  {
    pair: 'Content-Type before shape',
    method: 'PUT',
    path: preferences,
    token: () => member('alice'),
    sent: { raw: '{"preferences": null}', headers: { 'Content-Type': 'text/plain' } },
    expected: [400, 'bad_request'],
  },
  {
    pair: 'rate limit before syntax',
    method: 'PUT',
    path: preferences,
    token: signLimited,
    sent: notJson,
    expected: [429, 'rate_limited'],
  },
  {
    pair: 'permission before rate limit',
    method: 'PUT',
    path: preferences,
    token: async () => {
      await signLimited();
      return signToken({ sub: 'limited', org_id: 'acme', scope: 'account:read' });
    },
    sent: notJson,
    expected: [403, 'forbidden'],
  },
  {
    pair: 'rate limit before rules',
    method: 'PUT',
    path: '/editor/auth/subscription',
    token: signLimited,
    sent: { body: { accessToken: '', refreshToken: '' } },
    expected: [429, 'rate_limited'],
  },
  {
    pair: 'rate limit before record',
    method: 'POST',
    path: '/user/notifications/unknown/dismiss',
    token: signLimited,
    expected: [429, 'rate_limited'],
  },
  {
    pair: 'rules before record',
    method: 'POST',
    path: `/user/notifications/${'a'.repeat(256)}/dismiss`,
    token: () => member('bob'),
    expected: [422, 'validation_failed'],
  },
])('REST checks $pair', async ({ method, path, token, sent, expected }) => {
  const { status, body } = await rest(gateway, method, path, {
    ...(token && { token: await token() }),
    ...sent,
  });

  expect([status, body.code]).toEqual(expected);
});

const update =
  'mutation ($input: UpdateNotificationPreferencesInput!) { updateNotificationPreferences(input: $input) { __typename } }';
const store =
  'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { __typename } }';
const dismiss =
  'mutation ($input: DismissNotificationInput!) { dismissNotification(input: $input) { __typename } }';

test.each<[pair: string, token: () => Promise<string>, query: string, input: unknown, code: string]>([
  ['token before syntax', async () => 'no', 'mutation {', {}, 'UNAUTHENTICATED'],
  ['scope before shape', unpermitted, update, { preferences: 1 }, 'FORBIDDEN'],
  ['membership before shape', withoutMembership, update, { preferences: 1 }, 'ORG_MEMBERSHIP_REQUIRED'],
  ['syntax before rate limit', signLimited, 'mutation {', {}, 'BAD_REQUEST'],
  ['shape before rate limit', signLimited, update, { preferences: 1 }, 'VALIDATION_FAILED'],
  ['rate limit before rules', signLimited, store, { accessToken: '', refreshToken: '' }, 'RATE_LIMITED'],
  ['rate limit before record', signLimited, dismiss, { id: 'unknown' }, 'RATE_LIMITED'],
  ['scope before rate limit', unpermitted, update, { preferences: [] }, 'FORBIDDEN'],
  ['scope before rules', unpermitted, dismiss, { id: '' }, 'FORBIDDEN'],
  ['rules before record', () => member('carol'), dismiss, { id: 'a'.repeat(256) }, 'VALIDATION_FAILED'],
])('GraphQL checks %s', async (_pair, token, query, input, code) => {
  const { errors } = await graphql(gateway, query, { input }, { token: await token() });

  expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
});

test('GraphQL checks the token before rejecting a body that is not JSON', async () => {
  const response = await fetch(`${gateway.address}/graphql`, { method: 'POST', body: '{', headers: json });

  expect(response.status).toBe(401);
});

test('GraphQL checks the rate limit before parsing the document', async () => {
  const token = await signToken({ sub: 'exhausted', org_id: 'acme', scope: 'platform:admin' });
  const service = await startTestGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '1' }, gateway.database);
  const send = (query: string) => graphql(service, query, {}, { token });

  await send('mutation { deleteUser(input: { userId: "nobody" }) { deleted } }');
  const { status, errors } = await send('mutation {');

  expect([status, errors[0].extensions.code]).toEqual([429, 'RATE_LIMITED']);
  await service.close();
});
