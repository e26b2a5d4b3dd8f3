import { describe, expect, test } from 'vitest';
import { InternalError } from '../../src/errors/gateway-errors.ts';
import { createLog, logHiddenCause } from '../../src/log.ts';
import { rest } from '../support/client.ts';
import { beginTransaction, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { notification } from '../support/records.ts';
import { member, platform, signToken } from '../support/tokens.ts';

type Line = Record<string, unknown>;

const gateway = useGateway({ LOG_LEVEL: 'debug' });
const alice = gateway.as('alice');

const lines = (): Line[] => gateway.logLines().map((line) => JSON.parse(line));
const findRequestLines = ({ headers }: { headers: Headers }) =>
  lines().filter(({ msg, requestId }) => msg === 'request' && requestId === headers.get('x-request-id'));

describe('the request ID of a reply', () => {
  const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

  test.each([
    ['trace-1', 'trace-1'],
    ['x'.repeat(128), 'x'.repeat(128)],
    ['a b', UUID],
    ['x'.repeat(129), UUID],
    ['{"level":"info"}', UUID],
  ])("for the caller's %s is %s", async (id, expected) => {
    const { headers } = await alice.rest.get('/user/workspaces', { headers: { 'X-Request-Id': id } });
    expect(headers.get('x-request-id')).toMatch(expected);
  });

  test('is a UUID for two of the caller', async () => {
    const ids = ['X-Request-Id: a', 'X-Request-Id: b'];
    const { headers } = await sendRaw(gateway, rawRequest('GET /user/workspaces', ids));
    expect(headers.get('x-request-id')).toMatch(UUID);
  });
});

describe('the log line of a request', () => {
  test('contains request ID, user, root fields, status and duration, over both APIs', async () => {
    const overRest = await alice.rest.get('/user/workspaces');
    const overGraphQL = await alice.graphql(
      'query Named { a: workspaces { totalCount } b: workspaces { totalCount } editorAuth { needsReauth } }',
    );
    for (const [reply, own] of [
      [overRest, { method: 'GET', path: '/user/workspaces', operation: 'workspaces' }],
      [overGraphQL, { method: 'POST', path: '/graphql', operation: 'workspaces,editorAuth' }],
    ] as const)
      expect(findRequestLines(reply)).toEqual([
        {
          level: 30,
          time: expect.any(String),
          msg: 'request',
          requestId: reply.headers.get('x-request-id'),
          user: 'alice',
          status: 200,
          durationMs: expect.any(Number),
          ...own,
        },
      ]);
  });

  test('is one for each request, without a user if the token is rejected', async () => {
    const replies = [
      await alice.rest.get('/nowhere'),
      await alice.rest.put('/user/notification-preferences'),
      await gateway.as(async () => 'no.token.atall').rest.get('/user/workspaces'),
    ];
    const found = replies.flatMap(findRequestLines).map(({ path, status, user }) => [path, status, user]);
    expect(found).toEqual([
      ['(unmatched)', 404, undefined],
      ['/user/notification-preferences', 400, 'alice'],
      ['/user/workspaces', 401, undefined],
    ]);
  });

  test('has the level debug for health probes', async () => {
    for (const path of ['/healthz', '/readyz']) {
      const reply = await fetch(`${gateway.address}${path}`);
      expect(findRequestLines(reply)).toEqual([expect.objectContaining({ level: 20, path, status: 200 })]);
    }
  });

  test.each([
    ['/user/notifications/n-1.2~3_4/dismiss', '/user/notifications/n-1.2~3_4/dismiss'],
    ['/user/notifications/a%2Fb/dismiss', '/user/notifications/{id}/dismiss'],
    ['/user/notifications/n-1/dismiss/', '(unmatched)'],
    ['/no/such/path', '(unmatched)'],
  ])('contains the path of an endpoint: %s is logged as %s', async (sent, path) => {
    const reply = await alice.rest.post(sent);
    expect(findRequestLines(reply)).toEqual([expect.objectContaining({ path, status: 404 })]);
  });

  test('contains no document, variable, operation name, body or query string', async () => {
    const marked = 'mark-7f3a';
    const document = `query Marked_mark7f3a($id: ID!) { notification(id: $id) { __typename } b: notification(id: "${marked}") { __typename } }`;
    await alice.graphql(document, { id: marked });
    await alice.graphql(`{ ${marked.replace('-', '_')} }`);
    await alice.rest.put('/user/notification-preferences', { preferences: [{ [marked]: marked }] });
    await alice.rest.get(`/user/workspaces?${marked}=${marked}`);
    const query = new URLSearchParams({ query: `{ __typename } # ${marked}` });
    const headers = { Authorization: `Bearer ${await member('alice')}` };
    await (await fetch(`${gateway.address}/graphql?${query}`, { headers })).text();
    expect(gateway.logLines().filter((line) => /mark[-_]?7f3a/.test(line))).toEqual([]);
  });

  describe('of a publication', () => {
    const PUBLISH = `mutation ($input: PublishNotificationsInput!) {
      publishNotifications(input: $input) { results { notification { ... on UserNotification { id } } } }
    }`;
    const publish = (...notifications: object[]) =>
      gateway.as(platform).graphql(PUBLISH, { input: { notifications } });
    const published = (reply: { headers: Headers }) =>
      findRequestLines(reply).map((line) => [line.user, line.published, line.publishedCount]);

    test('contains the users and IDs of the first 10 of a batch, and their number', async () => {
      const reply = await publish(
        ...Array.from({ length: 12 }, (_none, index) => notification(`bob-${index}`)),
      );
      const { results } = reply.data.publishNotifications;
      const all = results.map((result: { notification: { id: string } }, index: number) => ({
        user: `bob-${index}`,
        notification: result.notification.id,
      }));
      expect(published(reply)).toEqual([['platform-service', all.slice(0, 10), 12]]);
    });

    test('contains none that was rejected', async () => {
      const long = notification('bob', 'plan_requested', { id: 'x'.repeat(256) });
      const reply = await publish(notification('bob'), long);
      expect(reply.errors).toHaveLength(1);
      expect(published(reply)).toEqual([['platform-service', undefined, undefined]]);
    });

    test('is one line of bounded length, whatever the IDs contain', async () => {
      const id = '"},{"user":"eve\u2028'.padEnd(254, '\u{1f600}');
      const users = Array.from({ length: 100 }, (_none, index) => `${index}`.padEnd(255, '"'));
      const before = gateway.logLines().length;
      const reply = await publish(...users.map((user) => notification(user, 'plan_requested', { id })));
      const first = users.slice(0, 10).map((user) => ({ user, notification: id }));
      expect(published(reply)).toEqual([['platform-service', first, 100]]);
      const written = gateway.logLines().slice(before);
      for (const line of written) {
        expect(line).not.toContain('\n');
        expect(Buffer.byteLength(line)).toBeLessThan(20_000);
      }
    });
  });

  test('cannot be forged by a user ID', async () => {
    for (const sub of [
      'eve\n{"level":30,"msg":"request","user":"alice"}',
      'eve","user":"alice',
      'eve\u2028alice',
    ]) {
      const before = gateway.logLines().length;
      const reply = await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub }) });
      const written = gateway.logLines().slice(before);
      expect(written.join()).not.toContain('\n');
      const parsed = written.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === 'request');
      expect(parsed).toEqual([expect.objectContaining({ status: reply.status })]);
      expect(parsed[0]?.user ?? sub).toBe(sub);
    }
  });

  test('contains `aborted` and no status if the client disconnected', async () => {
    const locker = await beginTransaction(gateway.database, 'lock table workspace');
    const id = 'left-early';
    const leaving = new AbortController();
    const headers = { Authorization: `Bearer ${await member('alice')}`, 'X-Request-Id': id };
    const left = fetch(`${gateway.address}/user/workspaces`, { headers, signal: leaving.signal });
    await eventually(async () => expect(await waitingSessions(gateway.database)).toBe(1));
    leaving.abort();
    await expect(left).rejects.toThrow();
    const [parsed] = await eventually(() => {
      const found = findRequestLines({ headers: new Headers({ 'x-request-id': id }) });
      expect(found).toHaveLength(1);
      return found;
    });
    await locker.query('rollback');
    expect(parsed).toMatchObject({ aborted: true, user: 'alice', operation: 'workspaces' });
    expect(parsed).not.toHaveProperty('status');
  });
});

/** Creates a log, and the list of its lines. */
function logToList() {
  const written: string[] = [];
  return { log: createLog('info', { write: (line) => void written.push(line) }), written };
}

test('logs the message of each address of a host at which a connection failed', () => {
  const refusals = ['connect ECONNREFUSED 127.0.0.1:1', 'connect EADDRNOTAVAIL ::1:1'];
  const { log, written } = logToList();
  logHiddenCause(log, new InternalError(new AggregateError(refusals.map((message) => new Error(message)))));
  expect(JSON.parse(written.join()).err.message).toBe(refusals.join('; '));
});

test('logs a cause that fails several fields of a request once, and that of another request again', () => {
  const { log, written } = logToList();
  const cause = new Error('The statement timed out.');
  for (const request of [log.child({ requestId: '1' }), log.child({ requestId: '2' })]) {
    for (let field = 0; field < 3; field += 1) logHiddenCause(request, new InternalError(cause));
    logHiddenCause(request, new InternalError(new Error('Another one.')));
  }
  expect(written.map((line) => [JSON.parse(line).requestId, JSON.parse(line).err.message])).toEqual([
    ['1', 'The statement timed out.'],
    ['1', 'Another one.'],
    ['2', 'The statement timed out.'],
    ['2', 'Another one.'],
  ]);
});
