import { expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { publish, putWorkspaces, readStatuses, workspaceInput } from '../support/records.ts';
import { acknowledge } from '../support/requests.ts';
import { member } from '../support/tokens.ts';

const gateway = useGateway();
const { as } = gateway;

test('GET /workspaces returns the same as GET /user/workspaces, with filters, pages and entity tags', async () => {
  const ids = await putWorkspaces(gateway, 'paths', [
    workspaceInput({ createdAt: '2026-01-02T00:00:00Z' }),
    workspaceInput({ createdAt: '2026-01-01T00:00:00Z', status: 'STOPPED' }),
  ]);
  for (const query of ['', '?status=stopped', '?limit=1&offset=1', '?project_id=project-1&unknown=1']) {
    const first = await as('paths').rest.get(`/user/workspaces${query}`);
    const second = await as('paths').rest.get(`/workspaces${query}`);
    expect([second.status, second.body]).toEqual([200, first.body]);
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'));
  }
  expect((await as('paths').rest.get('/workspaces')).body.workspaces).toHaveLength(ids.length);
  expect((await as('other').rest.get('/workspaces')).body.workspaces).toEqual([]);
});

const openPlan = { state: 'open', expires_at: null, on_expiry: null, answer: null, receipt: null };

test("GET /user/notifications/{id} returns a notification and its request, and 404 for an unknown one and another user's", async () => {
  await publish(gateway, 'reader', 'plan_requested', { id: 'a/b c' });
  await publish(gateway, 'another', 'task_failed', { id: 'theirs' });
  const { body } = await as('reader').rest.get('/user/notifications');

  const read = (id: string) => as('reader').rest.get(`/user/notifications/${id}`);
  const found = await read('a%2Fb%20c');
  expect(found.body).toEqual({ notification: body.notifications[0], request: openPlan });
  const missing = await read('nothing');
  const theirs = await read('theirs');
  expect([theirs.status, theirs.text]).toEqual([404, missing.text]);
});

test('GET /user/requests lists notifications that ask for an answer, each with its request', async () => {
  const user = 'asked';
  const expiry = { expiresInSeconds: 3600, onExpiry: { plan: { decision: 'REJECT' } } };
  await publish(gateway, user, 'plan_requested', { id: 'expiring', ...expiry });
  for (const id of ['waiting', 'settled']) await publish(gateway, user, 'plan_requested', { id });
  await publish(gateway, user, 'task_failed', { id: 'failed' });
  const answer = { answer_id: 'answer', plan: { decision: 'approve' } };
  const { body: stored } = await as(user).rest.post('/user/notifications/settled/answer', answer);
  await acknowledge(gateway, user, 'settled', 'REFUSED', 'Too late');
  await as(user).rest.post('/user/notifications/waiting/dismiss');
  const list = async (query: string) => (await as(user).rest.get(`/user/${query}`)).body;

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

  const first = await as(user).rest.get('/user/requests?state=open&limit=1');
  const [, next = ''] = /<.*(\/user.*)>/.exec(first.headers.get('link') ?? '') ?? [];
  expect((await as(user).rest.get(next)).body).toEqual({ requests: pairs.slice(2) });
});

test('GET /user/notification-counts counts active notifications by kind', async () => {
  for (const id of ['1', '2']) await publish(gateway, 'counted', 'task_failed', { id });
  await publish(gateway, 'counted', 'plan_requested', { id: '3' });
  await as('counted').rest.post('/user/notifications/2/dismiss');

  const { body } = await as('counted').rest.get('/user/notification-counts');

  const counts = { plan_requested: 1, question_requested: 0, task_failed: 1, task_response_ready: 0 };
  const by_kind = Object.entries(counts).map(([kind, count]) => ({ kind, count }));
  expect(body).toEqual({ total: 2, by_kind });
});

test('POST /user/notifications/dismiss dismisses these notifications, and returns what it changed', async () => {
  for (const id of ['a', 'b', 'c']) await publish(gateway, 'dismisser', 'task_failed', { id });
  await publish(gateway, 'owner', 'task_failed', { id: 'other' });
  const dismiss = (ids: string[]) => as('dismisser').rest.post('/user/notifications/dismiss', { ids });

  const first = await dismiss(['b', 'a', 'other']);
  expect([first.status, first.body.dismissed_count]).toEqual([200, 2]);
  expect(first.body.notifications).toMatchObject(['a', 'b'].map((id) => ({ id, status: 'dismissed' })));
  expect((await dismiss(['b'])).body).toEqual({ dismissed_count: 0, notifications: [], undo_token: null });
  expect(await readStatuses(gateway, 'dismisser')).toMatchObject({ c: 'active' });
  expect(await readStatuses(gateway, 'owner')).toEqual({ other: 'active' });

  for (const [ids, message] of [
    [[], 'must have at least 1 item'],
    [Array(101).fill('a'), 'must have at most 100 items'],
  ] as const) {
    const { status, body } = await dismiss([...ids]);
    expect([status, body.errors]).toMatchObject([422, [{ location: 'body.ids', message }]]);
  }
});

const unknown = (name: string, hint: string) => [
  { location: `query.${name}`, message: `is not a known parameter; ${hint}` },
];

test.each([
  ['/user/notifications?stauts=active', 'stauts', 'status'],
  ['/user/requests?status=open', 'status', 'state'],
  ['/user/notifications?STATUS=active', 'STATUS', 'status'],
  ['/user/notifications?ofset=1', 'ofset', 'offset'],
  ['/user/notifications?status[]=active', 'status[]', 'status'],
  ['/user/notifications?__proto__=1', '__proto__', 'status'],
])(
  'an extension returns 400 for the unknown parameter of %s, with the nearest name',
  async (path, name, nearest) => {
    const { status, body } = await as('mistaken').rest.get(path);
    expect([status, body.code]).toEqual([400, 'bad_request']);
    expect(body.errors).toMatchObject(unknown(name, `the nearest is ${nearest}`));
  },
);

type Call = [method: string, path: string, body?: object];
const call = async ([method, path, body]: Call, query: string) =>
  rest(gateway, method, `${path}?${query}`, { token: await member('mistaken'), body });

test.each<Call>([
  ['GET', '/user/notification-counts'],
  ['GET', '/user/notifications/a'],
  ['GET', '/user/notification-preferences'],
  ['DELETE', '/editor/auth'],
  ['POST', '/user/notifications/dismiss', { ids: ['a'] }],
  ['POST', '/user/notifications/restore', { ids: ['a'] }],
])('an extension without parameters returns 400 for any: %s %s', async (...sent) => {
  const { status, body } = await call(sent, 'status=active');

  expect([status, body.errors]).toMatchObject([400, unknown('status', 'this path has none')]);
});

test.each<Call>([
  ['GET', '/user/workspaces'],
  ['GET', '/workspaces'],
  ['GET', '/editor/auth'],
  ['PUT', '/user/notification-preferences', { preferences: [] }],
  ['PUT', '/editor/auth/subscription', { accessToken: 'a', refreshToken: 'b' }],
])('a path of the specification ignores unknown parameters: %s %s', async (...sent) => {
  expect((await call(sent, 'stauts=active&Limit=0')).status).toBe(200);
});

test('unknown parameters of any number and length are reported within the limits of errors', async () => {
  const read = (query: string) => as('mistaken').rest.get(`/user/notifications?${query}`);
  const { status, body } = await read(Array.from({ length: 300 }, (_, n) => `p${n}`).join('&'));
  expect([status, body.errors.length]).toEqual([400, 100]);
  expect(body.error).toMatch(/^Invalid request: a part of query is not a known parameter/);

  const long = await read(`${'x'.repeat(7000)}=1`);
  expect([long.status, long.body.errors[0].location.length]).toEqual([400, 'query.'.length + 101]);
});
