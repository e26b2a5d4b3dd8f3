import { expect, onTestFinished, test } from 'vitest';
import { type RestRequest, rest } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { member, signToken } from '../support/tokens.ts';

/*
 * Route (404), token (401), permission (403), rate limit (429), syntax (400), shape (422), rules (422), record (404):
 * a request that fails two successive checks gets the error of the earlier one.
 */

const WRITES = 4;

const gateway = useGateway({
  RATE_LIMIT_READS_PER_MINUTE: '1000',
  RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
});

const preferences = 'PUT /user/notification-preferences';
const headers = { 'Content-Type': 'application/json' };
const notJson = { raw: '{', headers };
const pair = { accessToken: '', refreshToken: '' };
const long = 'a'.repeat(256);
const undecodable = '/user/notifications/%FF/dismiss';

const withClaims = (claims: object) => () => signToken({ sub: 'alice', org_id: 'acme', ...claims });
const alice = withClaims({});
const expired = withClaims({ scope: '', exp: 1 });
const unpermitted = withClaims({ scope: 'account:read' });
const withoutMembership = withClaims({ org_id: null });

/** Signs a token of a member whose write limit is exhausted, by default of all scopes. */
async function limited(scope?: string): Promise<string> {
  const write = () => gateway.as('limited').rest.put('/user/notification-preferences', { preferences: [] });
  const statuses: number[] = [];
  for (let count = 0; count <= WRITES; count += 1) statuses.push((await write()).status);
  expect(statuses).toContain(429);
  return scope === undefined ? member('limited') : withClaims({ sub: 'limited', scope })();
}
const limitedReader = () => limited('account:read');

type Signing = (() => Promise<string>) | undefined;

test.each<[pair: string, request: string, Signing, sent: RestRequest, status: number, code: string]>([
  ['route before token', 'GET /nowhere', undefined, {}, 404, 'not_found'],
  ['token before permission and syntax', preferences, expired, notJson, 401, 'unauthenticated'],
  ['scope before syntax', preferences, unpermitted, notJson, 403, 'forbidden'],
  ['membership before syntax', preferences, withoutMembership, notJson, 403, 'org_membership_required'],
  ['scope before an undecodable path', `POST ${undecodable}`, unpermitted, {}, 403, 'forbidden'],
  ['syntax before shape', preferences, alice, { raw: '{"preferences": null', headers }, 400, 'bad_request'],
  ['Content-Type before shape', preferences, alice, { raw: '{"preferences": null}' }, 400, 'bad_request'],
  ['rate limit before syntax', preferences, limited, notJson, 429, 'rate_limited'],
  ['permission before rate limit', preferences, limitedReader, notJson, 403, 'forbidden'],
  ['rate limit before rules', 'PUT /editor/auth/subscription', limited, { body: pair }, 429, 'rate_limited'],
  ['rate limit before record', 'POST /user/notifications/unknown/dismiss', limited, {}, 429, 'rate_limited'],
  ['rules before record', `POST /user/notifications/${long}/dismiss`, alice, {}, 422, 'validation_failed'],
])('REST checks %s', async (_pair, request, sign, sent, status, code) => {
  const [method = '', path = ''] = request.split(' ');
  const reply = await rest(gateway, method, path, { ...(sign && { token: await sign() }), ...sent });
  expect([reply.status, reply.body.code]).toEqual([status, code]);
});

const operation = (field: string, type: string) =>
  `mutation ($input: ${type}!) { ${field}(input: $input) { __typename } }`;
const update = operation('updateNotificationPreferences', 'UpdateNotificationPreferencesInput');
const store = operation('storeEditorSubscription', 'StoreEditorSubscriptionInput');
const dismiss = operation('dismissNotification', 'DismissNotificationInput');

test.each<[pair: string, sign: () => Promise<string>, query: string, input: unknown, code: string]>([
  ['token before syntax', async () => 'no', 'mutation {', {}, 'UNAUTHENTICATED'],
  ['scope before shape', unpermitted, update, { preferences: 1 }, 'FORBIDDEN'],
  ['membership before shape', withoutMembership, update, { preferences: 1 }, 'ORG_MEMBERSHIP_REQUIRED'],
  ['syntax before rate limit', limited, 'mutation {', {}, 'BAD_REQUEST'],
  ['shape before rate limit', limited, update, { preferences: 1 }, 'VALIDATION_FAILED'],
  ['rate limit before rules', limited, store, pair, 'RATE_LIMITED'],
  ['rate limit before record', limited, dismiss, { id: 'unknown' }, 'RATE_LIMITED'],
  ['scope before rate limit', limitedReader, update, { preferences: [] }, 'FORBIDDEN'],
  ['scope before rules', unpermitted, dismiss, { id: '' }, 'FORBIDDEN'],
  ['rules before record', withClaims({ sub: 'carol' }), dismiss, { id: long }, 'VALIDATION_FAILED'],
])('GraphQL checks %s', async (_pair, sign, query, input, code) => {
  const { errors } = await gateway.as(sign).graphql(query, { input });
  expect(errors.map(({ extensions }) => extensions.code)).toEqual([code]);
});

test('GraphQL checks the token before rejecting a body that is not JSON', async () => {
  const response = await fetch(`${gateway.address}/graphql`, { method: 'POST', body: '{', headers });
  expect(response.status).toBe(401);
});

test('GraphQL checks the rate limit before parsing the document', async () => {
  const service = await startTestGateway({ RATE_LIMIT_PLATFORM_PER_MINUTE: '1' }, gateway.database);
  onTestFinished(() => service.close());
  const admin = service.as(withClaims({ sub: 'exhausted', scope: 'platform:admin' }));
  await admin.deleteUser({ userId: 'nobody' });
  const { status, errors } = await admin.graphql('mutation {');
  expect([status, errors[0].extensions.code]).toEqual([429, 'RATE_LIMITED']);
});
