import { once } from 'node:events';
import { connect } from 'node:net';
import pg from 'pg';
import { beforeAll, describe, expect, test } from 'vitest';
import { InternalError } from '../../src/errors/gateway-errors.ts';
import { createLog, logHiddenCause } from '../../src/log.ts';
import { graphql, rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw.ts';
import { payloads } from '../support/records.ts';
import { freePort } from '../support/servers.ts';
import { member, platform, signToken } from '../support/tokens.ts';

type Line = Record<string, unknown>;

const gateway = useGateway({ LOG_LEVEL: 'debug' });
let token: string;
beforeAll(async () => {
  token = await member('alice');
});

const lines = (): Line[] => gateway.logLines().map((line) => JSON.parse(line));
const findRequestLines = ({ headers }: { headers: Headers }) =>
  lines().filter(({ msg, requestId }) => msg === 'request' && requestId === headers.get('x-request-id'));

const STORE =
  'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { __typename } }';
const pair = { accessToken: 'access-1', refreshToken: 'refresh-1' };

describe('the log line of a request', () => {
  test('contains request ID, user, root fields, status and duration, over both APIs', async () => {
    const overRest = await rest(gateway, 'GET', '/user/workspaces', { token });
    const document =
      'query Named { a: workspaces { totalCount } b: workspaces { totalCount } editorAuth { needsReauth } }';
    const overGraphQL = await graphql(gateway, document, {}, { token });

    const common = { level: 30, time: expect.any(String), msg: 'request', user: 'alice', status: 200 };
    const durationMs = expect.any(Number);
    expect(findRequestLines(overRest)).toEqual([
      {
        ...common,
        requestId: overRest.headers.get('x-request-id'),
        method: 'GET',
        path: '/user/workspaces',
        operation: 'workspaces',
        durationMs,
      },
    ]);
    expect(findRequestLines(overGraphQL)).toEqual([
      {
        ...common,
        requestId: overGraphQL.headers.get('x-request-id'),
        method: 'POST',
        path: '/graphql',
        operation: 'workspaces,editorAuth',
        durationMs,
      },
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
    const reply = await rest(gateway, 'POST', sent, { token });
    expect(findRequestLines(reply)).toEqual([expect.objectContaining({ path, status: 404 })]);
  });

  test('contains no document, variable, operation name, body or query string', async () => {
    const marked = 'mark-7f3a';
    const document = `query Marked_mark7f3a($id: ID!) { notification(id: $id) { __typename } b: notification(id: "${marked}") { __typename } }`;
    await graphql(gateway, document, { id: marked }, { token });
    await graphql(gateway, `{ ${marked.replace('-', '_')} }`, {}, { token });
    const body = { preferences: [{ [marked]: marked }] };
    await rest(gateway, 'PUT', '/user/notification-preferences', { token, body });
    await rest(gateway, 'GET', `/user/workspaces?${marked}=${marked}`, { token });
    const query = new URLSearchParams({ query: `{ __typename } # ${marked}` });
    await (
      await fetch(`${gateway.address}/graphql?${query}`, { headers: { Authorization: `Bearer ${token}` } })
    ).text();
    expect(gateway.logLines().filter((line) => /mark[-_]?7f3a/.test(line))).toEqual([]);
  });

  describe('of a publication', () => {
    const PUBLISH =
      'mutation ($input: PublishNotificationsInput!) { publishNotifications(input: $input) { results { created } } }';
    const draft = (userId: string, id?: string) => ({
      userId,
      id,
      task: { id: `task-of-${id}`, projectId: 'project-1' },
      title: 'A title',
      payload: payloads.plan_requested,
    });
    const published = (reply: { headers: Headers }) =>
      findRequestLines(reply).map((line) => [line.user, line.published, line.publishedCount]);

    test('contains the user and the generated ID', async () => {
      const document =
        'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { notification { ... on UserNotification { id } } } }';
      const reply = await graphql(gateway, document, { input: draft('bob') }, { token: await platform() });
      const { id } = reply.data.publishNotification.notification;
      expect(published(reply)).toEqual([['platform-service', [{ user: 'bob', notification: id }], 1]]);
    });

    test('contains the first 10 of a batch, and their number', async () => {
      const all = Array.from({ length: 12 }, (_, index) => ({
        user: `bob-${index}`,
        notification: `n-${index}`,
      }));
      const notifications = all.map(({ user, notification }) => draft(user, notification));
      const reply = await graphql(
        gateway,
        PUBLISH,
        { input: { notifications } },
        { token: await platform() },
      );
      expect(published(reply)).toEqual([['platform-service', all.slice(0, 10), 12]]);
    });

    test('contains none that was rejected', async () => {
      const notifications = [draft('bob', 'kept'), draft('bob', 'x'.repeat(256))];
      const reply = await graphql(
        gateway,
        PUBLISH,
        { input: { notifications } },
        { token: await platform() },
      );
      expect(reply.errors).toHaveLength(1);
      expect(published(reply)).toEqual([['platform-service', undefined, undefined]]);
    });

    test('is one line of bounded length, whatever the IDs contain', async () => {
      const notification = '"},{"user":"eve\u2028'.padEnd(254, '\u{1f600}');
      const users = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(255, '"'));
      const notifications = users.map((user) => draft(user, notification));
      const before = gateway.logLines().length;
      const reply = await graphql(
        gateway,
        PUBLISH,
        { input: { notifications } },
        { token: await platform() },
      );
      expect(published(reply)).toEqual([
        ['platform-service', users.slice(0, 10).map((user) => ({ user, notification })), 100],
      ]);
      const written = gateway.logLines().slice(before);
      for (const line of written) {
        expect(line).not.toContain('\n');
        expect(Buffer.byteLength(line)).toBeLessThan(20_000);
      }
    });
  });

  test.each([
    ['a newline', 'eve\n{"level":30,"msg":"request","user":"alice"}'],
    ['quotes', 'eve","user":"alice'],
    ['line separators', 'eve\u2028\u2029\u0085alice'],
  ])('cannot be forged by a user ID with %s', async (_what, sub) => {
    const before = gateway.logLines().length;
    const reply = await rest(gateway, 'GET', '/user/workspaces', { token: await signToken({ sub }) });
    const written = gateway.logLines().slice(before);
    for (const line of written) expect(line).not.toContain('\n');
    const parsed = written.map((line): Line => JSON.parse(line)).filter(({ msg }) => msg === 'request');
    expect(parsed).toHaveLength(1);
    expect(parsed[0]?.user ?? sub).toBe(sub);
    expect(parsed[0]?.status).toBe(reply.status);
  });

  test('contains `aborted` and no status if the client disconnected', async () => {
    const locker = new pg.Client({ connectionString: gateway.database.url });
    await locker.connect();
    await locker.query('begin');
    await locker.query('lock table workspace');
    const { hostname, port } = new URL(gateway.address);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const id = 'left-early';
    socket.write(
      rawRequest('GET /user/workspaces', [`Authorization: Bearer ${token}`, `X-Request-Id: ${id}`]),
    );
    await eventually(async () => {
      expect(await waitingSessions(gateway.database)).toBe(1);
    });
    socket.destroy();
    const parsed = await eventually(() => {
      const found = lines().filter(({ msg, requestId }) => msg === 'request' && requestId === id);
      expect(found).toHaveLength(1);
      return found[0];
    });
    await locker.query('rollback');
    await locker.end();
    expect(parsed).toMatchObject({ aborted: true, user: 'alice', operation: 'workspaces' });
    expect(parsed).not.toHaveProperty('status');
  });
});

describe('audit lines', () => {
  const READ = 'query ($id: ID!) { editorCredential(userId: $id) { version } }';
  const REFRESH =
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }';

  test.each(['silent', 'fatal', 'error', 'info', 'trace'])(
    'are written with LOG_LEVEL %s for every read and write of a credential, with caller and user',
    async (level) => {
      const other = await startTestGateway({ LOG_LEVEL: level }, gateway.database);
      const service = { token: await platform() };
      const user = `user-${level}`;
      const own = { token: await member(user) };
      await graphql(other, STORE, { input: pair }, own);
      await rest(other, 'PUT', '/editor/auth/subscription', { ...own, body: pair });
      const { data } = await graphql(other, READ, { id: user }, service);
      const { version } = data.editorCredential;
      await graphql(other, REFRESH, { input: { userId: user, version, ...pair } }, service);
      await rest(other, 'DELETE', '/editor/auth', own);
      await graphql(other, READ, { id: 'nobody' }, service);
      await other.close();

      const parsed = other.logLines().map((line): Line => JSON.parse(line));
      const audited = parsed.filter((line) => 'audit' in line);
      expect(audited.map(({ audit, by, user }) => [audit, by, user])).toEqual([
        ['editor_credential.stored', user, user],
        ['editor_credential.stored', user, user],
        ['editor_credential.read', 'platform-service', user],
        ['editor_credential.refreshed', 'platform-service', user],
        ['editor_credential.deleted', user, user],
        ['editor_credential.read', 'platform-service', 'nobody'],
      ]);
      for (const line of audited) expect(line).toMatchObject({ requestId: expect.any(String), level: 30 });
      if (level === 'silent') expect(parsed).toEqual(audited);
    },
  );
});

test('logs a message for a connection that failed at every address of a host', async () => {
  const port = await freePort();
  const refused = await new Promise<unknown>((resolve) => {
    connect({
      host: 'localhost',
      port,
      autoSelectFamily: true,
      lookup: (_host, _options, done) =>
        done(null, [
          { address: '127.0.0.1', family: 4 },
          { address: '::1', family: 6 },
        ]),
    }).once('error', resolve);
  });
  expect(refused).toBeInstanceOf(AggregateError);
  let text = '';
  const log = createLog('info', {
    write: (line) => {
      text += line;
    },
  });
  logHiddenCause(log, new InternalError(refused));
  const { err } = JSON.parse(text);
  expect(err.message).toMatch(
    new RegExp(`^connect ECONNREFUSED 127\\.0\\.0\\.1:${port}; connect \\w+ ::1:${port}`),
  );
});

test('logs a cause that fails several fields of a request once, and that of another request again', () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => void lines.push(line) });
  const cause = new Error('The statement timed out.');
  for (const request of [log.child({ requestId: '1' }), log.child({ requestId: '2' })]) {
    for (let field = 0; field < 3; field += 1) logHiddenCause(request, new InternalError(cause));
    logHiddenCause(request, new InternalError(new Error('Another one.')));
  }
  expect(lines.map((line) => [JSON.parse(line).requestId, JSON.parse(line).err.message])).toEqual([
    ['1', 'The statement timed out.'],
    ['1', 'Another one.'],
    ['2', 'The statement timed out.'],
    ['2', 'Another one.'],
  ]);
});
