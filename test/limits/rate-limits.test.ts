import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { member, signToken } from '../support/tokens.ts';

const READS = 3;
const WRITES = 2;
const PLATFORM = 2;

const gateway = useGateway({
  RATE_LIMIT_READS_PER_MINUTE: String(READS),
  RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
  RATE_LIMIT_PLATFORM_PER_MINUTE: String(PLATFORM),
});
let unlimited: TestGateway;
beforeAll(async () => {
  unlimited = await startTestGateway({}, gateway.database);
});
afterAll(() => unlimited.close());

/** Returns a user that no other test uses. */
let users = 0;
const newUser = () => {
  users += 1;
  return `user-${users}`;
};

const overRest = (token: string) => rest(gateway, 'GET', '/user/workspaces', { token });
const overGraphQL = (token: string) => graphql(gateway, '{ workspaces { totalCount } }', {}, { token });
const write = (token: string) => rest(gateway, 'DELETE', '/editor/auth', { token });
const aliases = (count: number) =>
  `{ ${Array.from({ length: count }, (_none, index) => `a${index}: workspaces { totalCount }`).join(' ')} }`;

const readQuota = ({ headers }: { headers: Headers }) =>
  ['ratelimit-limit', 'ratelimit-remaining'].map((name) => headers.get(name));

test('reads over both APIs share a limit, and headers return the remaining points', async () => {
  const token = await member(newUser());

  const replies = [await overRest(token), await overGraphQL(token), await overRest(token)];

  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(replies.map(readQuota)).toEqual([
    ['3', '2'],
    ['3', '1'],
    ['3', '0'],
  ]);
  for (const { headers } of replies) expect(headers.get('ratelimit-reset')).toMatch(/^([1-9]|[1-5]\d|60)$/);
  expect((await overRest(token)).status).toBe(429);
  expect((await overGraphQL(token)).status).toBe(429);
});

test('an exceeded limit returns 429 with Retry-After over REST', async () => {
  const token = await member(newUser());
  for (let count = 0; count < WRITES; count += 1) await write(token);

  const { status, body, headers } = await write(token);

  const seconds = headers.get('retry-after');
  expect(status).toBe(429);
  expect(seconds).toMatch(/^([1-9]|[1-5]\d|60)$/);
  expect(body).toEqual({
    error: `Too many requests. Try again in ${seconds} s.`,
    code: 'rate_limited',
    errors: [],
  });
  expect(readQuota({ headers })).toEqual(['2', '0']);
});

test.each(['application/json', 'application/graphql-response+json'])(
  'returns 429 with Retry-After if every root field is rate limited, for Accept: %s',
  async (Accept) => {
    const token = await member(newUser());
    await graphql(gateway, aliases(READS), {}, { token });

    const reply = await graphql(gateway, aliases(2), {}, { token, headers: { Accept } });

    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/);
    expect(JSON.parse(reply.text)).not.toHaveProperty('data');
    const refused = { code: 'RATE_LIMITED', retryAfter: Number(reply.headers.get('retry-after')) };
    expect(reply.errors.map(({ path, extensions }) => [path, extensions])).toEqual([
      [['a0'], refused],
      [['a1'], refused],
    ]);
  },
);

test('each alias costs a point, and fields beyond the limit fail while the others return data', async () => {
  const token = await member(newUser());

  const reply = await graphql(gateway, aliases(READS + 2), {}, { token });

  const got = Object.values(reply.data).filter((value) => value !== null);
  expect([reply.status, got.length]).toEqual([200, READS]);
  expect(reply.headers.get('retry-after')).toBeNull();
  expect(reply.errors).toHaveLength(2);
  for (const { extensions } of reply.errors) {
    expect(extensions).toEqual({ code: 'RATE_LIMITED', retryAfter: expect.any(Number) });
    expect(extensions.retryAfter).toBeGreaterThanOrEqual(1);
  }
});

test('fields in fragments cost the same as others', async () => {
  const token = await member(newUser());
  const query =
    '{ ...A ...A ... { b: workspaces { totalCount } } } fragment A on Query { a: workspaces { totalCount } }';

  expect(readQuota(await graphql(gateway, query, {}, { token }))).toEqual(['3', '1']);
});

test('reads and writes have separate limits', async () => {
  const token = await member(newUser());
  for (let count = 0; count <= WRITES; count += 1) await write(token);

  const { status, headers } = await overRest(token);

  expect([status, ...readQuota({ headers })]).toEqual([200, '3', '2']);
});

test('limits apply per user, independent of the token', async () => {
  const user = newUser();
  await graphql(gateway, aliases(READS), {}, { token: await member(user) });

  const again = await overRest(await signToken({ sub: user, org_id: 'other', scope: 'account:read' }));
  const other = await overRest(await member(newUser()));

  expect([again.status, other.status]).toEqual([429, 200]);
});

test('platform operations have a separate limit for each subject, and one that is refused costs a read', async () => {
  const token = await signToken({ sub: newUser(), scope: 'platform:read account:read' });
  const count = () => graphql(gateway, '{ platform { __typename } }', {}, { token });

  const replies = [await count(), await count(), await count(), await overRest(token)];

  expect(replies.map(({ status }) => status)).toEqual([200, 200, 429, 200]);
  expect(replies.map(readQuota)).toEqual([
    ['2', '1'],
    ['2', '0'],
    ['2', '0'],
    ['3', '1'],
  ]);
});

test('replies without a caller have no RateLimit headers', async () => {
  expect(readQuota(await rest(gateway, 'GET', '/user/workspaces'))).toEqual([null, null]);
  expect(readQuota(await graphql(gateway, '{ workspaces { totalCount } }'))).toEqual([null, null]);
});

test('0 disables a limit and its headers', async () => {
  const token = await member(newUser());

  const replies = [
    await graphql(unlimited, aliases(20), {}, { token }),
    await rest(unlimited, 'GET', '/user/workspaces', { token }),
    await rest(unlimited, 'DELETE', '/editor/auth', { token }),
    await rest(unlimited, 'PUT', '/user/notification-preferences', { token, body: {} }),
  ];

  expect(replies.map(({ status }) => status)).toEqual([200, 200, 204, 422]);
  for (const { headers } of replies) {
    expect([...headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([]);
  }
});
