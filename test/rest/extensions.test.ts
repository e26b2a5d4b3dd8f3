import { expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { acknowledge } from '../support/requests.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();

const ask = async (user: string, method: string, path: string, body?: unknown) =>
  rest(gateway, method, path, { token: await member(user), ...(body !== undefined && { body }) });

test('GET /workspaces returns the same as GET /user/workspaces, with filters, pages and entity tags', async () => {
  const ids = await putWorkspaces(gateway, 'paths', [
    workspaceInput({ createdAt: '2026-01-02T00:00:00Z' }),
    workspaceInput({ createdAt: '2026-01-01T00:00:00Z', status: 'STOPPED' }),
  ]);
  for (const query of ['', '?status=stopped', '?limit=1&offset=1', '?project_id=project-1&unknown=1']) {
    const [first, second] = [
      await ask('paths', 'GET', `/user/workspaces${query}`),
      await ask('paths', 'GET', `/workspaces${query}`),
    ];
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
  }
  expect((await ask('paths', 'GET', '/workspaces')).body.workspaces).toHaveLength(ids.length);
  expect((await ask('other', 'GET', '/workspaces')).body.workspaces).toEqual([]);
});

const openPlan = { state: 'open', expires_at: null, on_expiry: null, answer: null, receipt: null };

test("GET /user/notifications/{id} returns a notification and its request, and 404 for an unknown one and another user's", async () => {
  await publish(gateway, 'reader', 'plan_requested', { id: 'a/b c' });
  await publish(gateway, 'another', 'task_failed', { id: 'theirs' });
  const { body } = await ask('reader', 'GET', '/user/notifications');

  const found = await ask('reader', 'GET', '/user/notifications/a%2Fb%20c');

  expect([found.status, found.body]).toEqual([
    200,
    { notification: body.notifications[0], request: openPlan },
  ]);
  const missing = await ask('reader', 'GET', '/user/notifications/nothing');
  const theirs = await ask('reader', 'GET', '/user/notifications/theirs');
  expect([theirs.status, theirs.text]).toEqual([404, missing.text]);
  const invalid = await ask('reader', 'GET', `/user/notifications/${'x'.repeat(256)}`);
  expect([invalid.status, invalid.body.errors[0].location]).toEqual([422, 'path.id']);
});

test('GET /user/requests lists notifications that ask for an answer, each with its request', async () => {
  const user = 'asked';
  const expiry = { expiresInSeconds: 3600, onExpiry: { plan: { decision: 'REJECT' } } };
  await publish(gateway, user, 'plan_requested', { id: 'expiring', ...expiry });
  for (const id of ['waiting', 'settled']) await publish(gateway, user, 'plan_requested', { id });
  await publish(gateway, user, 'task_failed', { id: 'failed' });
  const answer = { answer_id: 'answer', plan: { decision: 'approve' } };
  const { body: stored } = await ask(user, 'POST', '/user/notifications/settled/answer', answer);
  await acknowledge(gateway, user, 'settled', 'REFUSED', 'Too late');
  await ask(user, 'POST', '/user/notifications/waiting/dismiss');
  const list = async (query: string) => (await ask(user, 'GET', `/user/${query}`)).body;

  const { notifications } = await list('notifications');
  const [settled, waiting, expiring] = notifications.slice(1);
  const receipt = { outcome: 'refused', message: 'Too late', at: expect.any(String) };
  const by_default = { plan: { decision: 'reject', feedback: null }, via: 'default', by: null };
  const pairs = [
    { notification: settled, request: { ...openPlan, state: 'answered', answer: stored.answer, receipt } },
    { notification: waiting, request: openPlan },
    {
      notification: expiring,
      request: {
        ...openPlan,
        expires_at: expect.any(String),
        on_expiry: expect.objectContaining(by_default),
      },
    },
  ];
  expect(await list('requests')).toEqual({ requests: pairs });
  expect(await list('requests?state=open')).toEqual({ requests: pairs.slice(1) });
  expect(await list('requests?state=expired&state=answered')).toEqual({ requests: pairs.slice(0, 1) });
  expect(await list('notifications?request_state=open')).toEqual({ notifications: [waiting, expiring] });
  expect(await list('notifications/failed')).toEqual({ notification: notifications[0], request: null });

  const first = await ask(user, 'GET', '/user/requests?state=open&limit=1');
  const [, next = ''] = /<.*(\/user.*)>/.exec(first.headers.get('link') ?? '') ?? [];
  expect((await ask(user, 'GET', next)).body).toEqual({ requests: pairs.slice(2) });
});

test('GET /user/notification-counts counts active notifications by kind', async () => {
  for (const id of ['1', '2']) await publish(gateway, 'counted', 'task_failed', { id });
  await publish(gateway, 'counted', 'plan_requested', { id: '3' });
  await ask('counted', 'POST', '/user/notifications/2/dismiss');

  const { status, body } = await ask('counted', 'GET', '/user/notification-counts');

  expect([status, body]).toEqual([
    200,
    {
      total: 2,
      by_kind: [
        { kind: 'plan_requested', count: 1 },
        { kind: 'question_requested', count: 0 },
        { kind: 'task_failed', count: 1 },
        { kind: 'task_response_ready', count: 0 },
      ],
    },
  ]);
});

test('POST /user/notifications/dismiss dismisses these notifications, and returns what it changed', async () => {
  for (const id of ['a', 'b', 'c']) await publish(gateway, 'dismisser', 'task_failed', { id });
  await publish(gateway, 'owner', 'task_failed', { id: 'other' });

  const first = await ask('dismisser', 'POST', '/user/notifications/dismiss', { ids: ['b', 'a', 'other'] });
  const again = await ask('dismisser', 'POST', '/user/notifications/dismiss', { ids: ['b'] });

  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({
    dismissed_count: 2,
    notifications: [
      { id: 'a', status: 'dismissed' },
      { id: 'b', status: 'dismissed' },
    ],
  });
  expect(again.body).toEqual({ dismissed_count: 0, notifications: [], undo_token: null });
  const { body } = await ask('dismisser', 'GET', '/user/notifications?status=active');
  expect(body.notifications.map(({ id }: { id: string }) => id)).toEqual(['c']);
  const owner = await ask('owner', 'GET', '/user/notifications/other');
  expect(owner.body.notification.status).toBe('active');
});

test.each<[what: string, body: object, location: string, message: string]>([
  ['no list', {}, 'body.ids', 'is required'],
  ['an empty list', { ids: [] }, 'body.ids', 'must have at least 1 item'],
  ['101 IDs', { ids: Array(101).fill('a') }, 'body.ids', 'must have at most 100 items'],
  ['an ID that is no string', { ids: ['a', 1] }, 'body.ids[1]', 'must be a string'],
  [
    'an empty ID',
    { ids: ['a', ''] },
    'body.ids[1]',
    'must be 1 to 255 characters without control characters',
  ],
  ['a filter', { ids: ['a'], filter: {} }, 'body.filter', 'is not a known property'],
])('POST /user/notifications/dismiss returns 422 for %s', async (_what, sent, location, message) => {
  const { status, body } = await ask('invalid', 'POST', '/user/notifications/dismiss', sent);

  expect(status).toBe(422);
  expect(body.errors).toMatchObject([{ location, message }]);
});

test('extensions check the scope of the token', async () => {
  const reader = await signToken({ sub: 'alice', scope: 'account:read' });
  const body = { ids: ['a'] };
  const dismissal = await rest(gateway, 'POST', '/user/notifications/dismiss', { token: reader, body });
  const counts = await rest(gateway, 'GET', '/user/notification-counts', { token: reader });
  expect([dismissal.status, counts.status]).toEqual([403, 200]);
});

test.each<[method: string, path: string, name: string, nearest: string]>([
  ['GET', '/user/notifications?stauts=active', 'stauts', 'status'],
  ['GET', '/user/requests?status=open', 'status', 'state'],
  ['GET', '/user/notifications?STATUS=active', 'STATUS', 'status'],
  ['GET', '/user/notifications?kinds=task_failed', 'kinds', 'kind'],
  ['GET', '/user/notifications?ofset=1', 'ofset', 'offset'],
  ['GET', '/user/notifications?status[]=active', 'status[]', 'status'],
  ['GET', '/user/notifications?__proto__=1', '__proto__', 'status'],
])('an extension returns 400 for %s %s, with the nearest name', async (method, path, name, nearest) => {
  const { status, body } = await ask('mistaken', method, path);

  expect([status, body.code]).toEqual([400, 'bad_request']);
  expect(body.errors).toMatchObject([
    { location: `query.${name}`, message: `is not a known parameter; the nearest is ${nearest}` },
  ]);
});

test.each([
  ['GET', '/user/notification-counts', undefined],
  ['GET', '/user/notifications/a', undefined],
  ['GET', '/user/notification-preferences', undefined],
  ['DELETE', '/editor/auth', undefined],
  ['POST', '/user/notifications/dismiss', { ids: ['a'] }],
  ['POST', '/user/notifications/restore', { ids: ['a'] }],
])('an extension without parameters returns 400 for any: %s %s', async (method, path, sent) => {
  const { status, body } = await ask('mistaken', method, `${path}?status=active`, sent);

  expect([status, body.errors]).toEqual([
    400,
    [
      {
        location: 'query.status',
        message: 'is not a known parameter; this path has none',
        value: 'active',
      },
    ],
  ]);
});

test.each([
  ['GET', '/user/workspaces', undefined],
  ['GET', '/workspaces', undefined],
  ['GET', '/editor/auth', undefined],
  ['PUT', '/user/notification-preferences', { preferences: [] }],
  ['PUT', '/editor/auth/subscription', { accessToken: 'a', refreshToken: 'b' }],
])('a path of the specification ignores unknown parameters: %s %s', async (method, path, sent) => {
  expect((await ask('mistaken', method, `${path}?stauts=active&Limit=0`, sent)).status).toBe(200);
});

test('unknown parameters of any number and length are reported within the limits of errors', async () => {
  const path = `/user/notifications?${Array.from({ length: 300 }, (_, n) => `p${n}`).join('&')}`;
  const { status, body } = await ask('mistaken', 'GET', path);
  expect([status, body.errors.length]).toEqual([400, 100]);
  expect(body.error).toMatch(/^Invalid request: a part of query is not a known parameter/);

  const long = await ask('mistaken', 'GET', `/user/notifications?${'x'.repeat(7000)}=1`);
  expect([long.status, long.body.errors[0].location.length]).toEqual([400, 'query.'.length + 101]);
});
