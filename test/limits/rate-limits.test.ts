import { randomUUID } from 'node:crypto';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, test } from 'vitest';
import { toSeconds } from '../../src/quota/quota.ts';
import type { Caller } from '../support/as.ts';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { signTaskToken, signToken } from '../support/tokens.ts';

const READS = 3;
const WRITES = 2;
const PLATFORM = 2;

const gateway = useGateway({
  RATE_LIMIT_READS_PER_MINUTE: String(READS),
  RATE_LIMIT_WRITES_PER_MINUTE: String(WRITES),
  RATE_LIMIT_PLATFORM_PER_MINUTE: String(PLATFORM),
});
const unlimited = useGateway({}, gateway);
const { as } = gateway;

const WORKSPACES = '/user/workspaces';
const PREFERENCES = '/user/notification-preferences';
const SECONDS = /^([1-9]|[1-5]\d|60)$/;

type Reply = { status: number; headers: Headers };
/** A request of a caller. */
type Send = (caller: Caller) => Promise<Reply>;

const overRest: Send = ({ rest }) => rest.get(WORKSPACES);
const overGraphQL: Send = (caller) => caller.graphql('{ workspaces { totalCount } }');
const write: Send = ({ rest }) => rest.delete('/editor/auth');
const aliases = (count: number) =>
  `{ ${Array.from({ length: count }, (_none, index) => `a${index}: workspaces { totalCount }`).join(' ')} }`;

/** Sends requests one after another as a new user, or as the caller. */
async function sendAll(sends: Send[], caller = as(randomUUID())): Promise<Reply[]> {
  const replies: Reply[] = [];
  for (const send of sends) replies.push(await send(caller));
  return replies;
}
const times = (count: number, send: Send): Send[] => Array(count).fill(send);

/** The status, the limit and the remaining points of a reply. */
const show = ({ status, headers }: Reply) =>
  [status, headers.get('ratelimit-limit') ?? '-', headers.get('ratelimit-remaining') ?? '-'].join(' ');
const showAll = (replies: Reply[]) => replies.map(show);

test('reads over both APIs share a limit, and headers return the remaining points', async () => {
  const replies = await sendAll([overRest, overGraphQL, overRest, overRest, overGraphQL]);

  expect(showAll(replies)).toEqual(['200 3 2', '200 3 1', '200 3 0', '429 3 0', '429 3 0']);
  for (const { headers } of replies) expect(headers.get('ratelimit-reset')).toMatch(SECONDS);
});

test('an exceeded limit returns 429 with Retry-After over REST', async () => {
  const caller = as(randomUUID());
  await sendAll(times(WRITES, write), caller);

  const { status, body, headers } = await caller.rest.delete('/editor/auth');

  const seconds = headers.get('retry-after');
  expect(seconds).toMatch(SECONDS);
  const error = `Too many requests. Try again in ${seconds} s.`;
  expect(body).toEqual({ error, code: 'rate_limited', errors: [] });
  expect(show({ status, headers })).toBe('429 2 0');
});

test('returns 429 with Retry-After if every root field is rate limited', async () => {
  const caller = as(randomUUID());
  await caller.run(aliases(READS));
  for (const Accept of ['application/json', 'application/graphql-response+json']) {
    const reply = await caller.graphql(aliases(2), {}, { headers: { Accept } });

    expect(reply.status).toBe(429);
    expect(reply.headers.get('retry-after')).toMatch(SECONDS);
    expect(JSON.parse(reply.text)).not.toHaveProperty('data');
    const extensions = { code: 'RATE_LIMITED', retryAfter: Number(reply.headers.get('retry-after')) };
    expect(reply.errors).toMatchObject(['a0', 'a1'].map((alias) => ({ path: [alias], extensions })));
  }
});

test('each alias costs a point, and fields beyond the limit fail while the others return data', async () => {
  const reply = await as(randomUUID()).graphql(aliases(READS + 2));

  const got = Object.values(reply.data).filter((value) => value !== null);
  expect([reply.status, got.length]).toEqual([200, READS]);
  expect(reply.headers.get('retry-after')).toBeNull();
  const refusal = { extensions: { code: 'RATE_LIMITED', retryAfter: expect.any(Number) } };
  expect(reply.errors).toMatchObject([refusal, refusal]);
  for (const { extensions } of reply.errors) expect(extensions.retryAfter).toBeGreaterThanOrEqual(1);
});

test('fields in fragments cost the same as others', async () => {
  const query = `{ ...A ...A ... { b: workspaces { totalCount } } }
    fragment A on Query { a: workspaces { totalCount } }`;
  expect(show(await as(randomUUID()).graphql(query))).toBe('200 3 1');
});

test('reads and writes have separate limits', async () => {
  expect(showAll(await sendAll([...times(WRITES + 1, write), overRest])).slice(-2)).toEqual([
    '429 2 0',
    '200 3 2',
  ]);
});

test('limits apply per user, independent of the token', async () => {
  const user = randomUUID();
  await as(user).run(aliases(READS));

  const again = await overRest(as(() => signToken({ sub: user, org_id: 'other', scope: 'account:read' })));
  const other = await overRest(as(randomUUID()));

  expect([again.status, other.status]).toEqual([429, 200]);
});

test('platform operations have a separate limit for each subject, and one that is refused costs a read', async () => {
  const token = await signToken({ sub: randomUUID(), scope: 'platform:read account:read' });
  const platform: Send = (caller) => caller.graphql('{ platform { __typename } }');

  const caller = as(async () => token);
  const replies = await sendAll([platform, platform, platform, overRest], caller);
  expect(showAll(replies)).toEqual(['200 2 1', '200 2 0', '429 2 0', '200 3 1']);
});

test('replies without a caller have no RateLimit headers', async () => {
  expect(show(await rest(gateway, 'GET', WORKSPACES))).toBe('401 - -');
  expect(show(await graphql(gateway, '{ workspaces { totalCount } }'))).toBe('401 - -');
});

test('0 disables a limit and its headers', async () => {
  const caller = unlimited.as(randomUUID());
  const sends: Send[] = [
    ({ graphql }) => graphql(aliases(20)),
    overRest,
    write,
    ({ rest }) => rest.put(PREFERENCES, {}),
  ];
  expect(showAll(await sendAll(sends, caller))).toEqual(['200 - -', '200 - -', '204 - -', '422 - -']);
});

const dismissal = 'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }';
const json = { 'Content-Type': 'application/json' };

describe('a rejected request', () => {
  test.each<[what: string, status: number, send: Send]>([
    ['a document that cannot be parsed', 400, ({ graphql }) => graphql('{')],
    ['an invalid document', 400, ({ graphql }) => graphql('{ unknown }')],
    ['an unknown operation', 400, ({ graphql }) => graphql('query A { __typename } query B { __typename }')],
    ['introspection', 200, ({ graphql }) => graphql('{ __typename }')],
    ['a variable of the wrong type', 400, ({ graphql }) => graphql(dismissal, { id: {} })],
    ['an invalid query string', 400, ({ rest }) => rest.get(`${WORKSPACES}?limit=0`)],
    [
      'a REST body that is not JSON',
      400,
      ({ rest }) => rest.put(PREFERENCES, undefined, { raw: '{', headers: json }),
    ],
    ['a REST body of the wrong shape', 422, ({ rest }) => rest.put(PREFERENCES, {})],
  ])(
    'costs a read; without reads, the next ones are served too, then 429 is returned: %s',
    async (...row) => {
      const [what, status, send] = row;
      // What a REST path reads is charged at once.
      const served = what === 'an invalid query string' ? READS : 2 * READS;
      const replies = await sendAll(times(served + 1, send));

      const last = replies.pop();
      expect(replies.map((reply) => reply.status)).toEqual(Array(served).fill(status));
      expect(showAll(replies.slice(0, READS))).toEqual([`${status} 3 2`, `${status} 3 1`, `${status} 3 0`]);
      expect(last && show(last)).toBe('429 3 0');
      expect(last?.headers.get('retry-after')).toMatch(SECONDS);
    },
  );

  test('costs a read if it is a mutation that the rate limit refuses', async () => {
    const remove: Send = ({ graphql }) => graphql('mutation { deleteEditorAuth { __typename } }');
    const replies = await sendAll([...times(WRITES + READS, remove), overRest]);

    expect(replies.map(({ status }) => status)).toEqual([200, 200, 429, 429, 429, 429]);
  });

  test('costs nothing if it is rejected before its body is read', async () => {
    const valid: Send = ({ rest }) => rest.put(PREFERENCES, { preferences: [] });
    const invalid: Send = ({ rest }) => rest.put(PREFERENCES, {});
    const replies = await sendAll([...times(WRITES, valid), invalid, overRest]);

    expect(showAll(replies).slice(-2)).toEqual(['429 2 0', '200 3 2']);
  });

  test('has the time until the token can be used again in Retry-After', async () => {
    const caller = as(randomUUID());
    await sendAll([...times(WRITES, write), ...times(READS, overRest)], caller);

    const blocked = await caller.graphql('{ __typename }');
    const writes = await write(caller);

    expect([blocked.status, writes.status]).toEqual([429, 429]);
    const [wait, waitToWrite] = [blocked, writes].map(({ headers }) => Number(headers.get('retry-after')));
    expect(wait).toBeLessThanOrEqual(waitToWrite ?? 0);
  });

  test('costs a read if a scope is missing, over both APIs', async () => {
    const token = await signToken({ sub: randomUUID(), scope: 'account:read' });
    const caller = as(async () => token);
    const replies = await sendAll([write, ({ graphql }) => graphql('{ platform { __typename } }')], caller);
    expect(replies.map(({ headers }) => headers.get('ratelimit-remaining'))).toEqual(['2', '1']);
  });

  test('costs as much as the operation, once, if the record is unknown', async () => {
    const reply = await as(randomUUID()).rest.post('/user/notifications/unknown/dismiss');
    expect(show(reply)).toBe('404 2 1');
  });
});

describe('a document that is not in the cache', () => {
  const READS = 20;
  const TASKS = 10;
  const costly = useGateway({
    RATE_LIMIT_READS_PER_MINUTE: String(READS),
    RATE_LIMIT_TASKS_PER_MINUTE: String(TASKS),
  });
  /** Returns a document of a length that no other call returns. */
  const newDocument = (characters: number, start = '{ editorAuth { needsReauth } }') =>
    `${start} # ${randomUUID()} `.padEnd(characters);
  const remaining = async (caller: Caller, query: string, variables = {}) => {
    const { status, headers } = await caller.graphql(query, variables);
    return [status, Number(headers.get('ratelimit-remaining'))];
  };

  test.each([
    ['a valid', '{ editorAuth { needsReauth } }', 200],
    ['an invalid', '{ unknown }', 400],
    ['an unparseable', '{', 400],
    ['a malformed', '}', 400],
  ])(
    'costs a read for each 1,024 characters, once for all callers: %s document',
    async (_what, start, status) => {
      const caller = costly.as(randomUUID());
      const query = newDocument(4 * 1024, start);

      expect(await remaining(caller, newDocument(1023, start))).toEqual([status, READS - 1]);
      expect(await remaining(caller, query)).toEqual([status, READS - 1 - 4 - 1]);
      expect(await remaining(caller, query)).toEqual([status, READS - 7]);
      expect(await remaining(costly.as(randomUUID()), query)).toEqual([status, READS - 1]);
    },
  );

  test('is rejected once neither reads nor rejected requests are left, without being parsed', async () => {
    const send: Send = ({ graphql }) => graphql(newDocument(15 * 1024, '{'));
    const replies = await sendAll(times(4, send), costly.as(randomUUID()));
    expect(replies.map(({ status }) => status)).toEqual([400, 400, 429, 429]);
  });

  test('that costs more than the limit takes all of it', async () => {
    const query = newDocument(60 * 1024, '{ unknown }');
    expect(await remaining(costly.as(randomUUID()), query)).toEqual([400, 0]);
  });

  test('is charged to the task of a task token', async () => {
    const query = '{ latestPlatformCursor }';
    const user = randomUUID();
    const [one, other] = ['task-1', 'task-2'].map((task) => costly.as(() => signTaskToken(user, task)));
    if (!one || !other) return expect.unreachable();

    expect(await remaining(one, newDocument(3 * 1024, query))).toEqual([200, TASKS - 4]);
    expect(await remaining(one, newDocument(9 * 1024, query))).toEqual([429, 0]);
    expect(await remaining(other, query)).toEqual([200, TASKS - 1]);
  });

  test('introspection costs a read for each started 1,000 of its cost, and one once its reply is kept', async () => {
    const fields = 'fields { name type { name ofType { name } } }';
    const query = newDocument(100, `{ __schema { types { name ${fields} } } }`);
    const caller = costly.as(randomUUID());

    const [, first = 0] = await remaining(caller, query);
    expect(READS - first).toBeGreaterThan(2);
    expect(await remaining(caller, query)).toEqual([200, first - 1]);
    // Replies to variables are not kept.
    for (let sent = 0; sent < 2; sent += 1) {
      const variable = `query ($name: String!) { __type(name: $name) { ${fields} } }`;
      const [, left = 0] = await remaining(costly.as(randomUUID()), variable, { name: 'Query' });
      expect(READS - left).toBeGreaterThan(2);
    }
  });

  test('a standard introspection query costs one read', async () => {
    expect(await remaining(costly.as(randomUUID()), getIntrospectionQuery())).toEqual([200, READS - 1]);
  });
});

test.each([
  [0, 1],
  [1000, 1],
  [1001, 2],
])('%i ms until a reset are %i whole seconds', (milliseconds, seconds) => {
  expect(toSeconds(milliseconds)).toBe(seconds);
});
