import { expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { asMember, type Kind, publish, resolve } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();

type Listed = { id: string; kind: string; status: string; created_at: string };

async function readInbox(userId: string, search = ''): Promise<Listed[]> {
  const reply = await rest(gateway, 'GET', `/user/notifications${search}`, { token: await member(userId) });
  expect(reply.status, reply.text).toBe(200);
  return reply.body.notifications;
}

const toIds = (records: readonly { id: string }[]) => records.map(({ id }) => id);

async function page(userId: string, args: string) {
  const query = `{ notifications${args} { nodes { ... on UserNotification { id status } } pageInfo { endCursor } } }`;
  const { nodes, pageInfo } = (await asMember(gateway, userId, query)).notifications;
  return { ids: toIds(nodes), end: pageInfo.endCursor };
}

/** Creates a notification of each kind and status, with both in its ID. */
async function publishEveryKindAndStatus(userId: string) {
  const kinds: Kind[] = ['plan_requested', 'question_requested', 'task_failed', 'task_response_ready'];
  for (const kind of kinds) {
    for (const status of ['active', 'resolved', 'dismissed']) {
      const id = `${kind} ${status}`;
      await publish(gateway, userId, kind, { id, task: { id, projectId: 'p' } });
      if (status === 'resolved') await resolve(gateway, userId, id);
      if (status === 'dismissed') {
        const path = `/user/notifications/${encodeURIComponent(id)}/dismiss`;
        await rest(gateway, 'POST', path, { token: await member(userId) });
      }
    }
  }
}

/** Inserts many notifications without the gateway. */
async function storeMany(userId: string, count: number) {
  await gateway.database.sql(
    `insert into notification (user_id, id, revision, kind, status, task_id, project_id, title, payload,
                               occurred_at, created_at, updated_at)
     select $1, 'n-' || n, n, 'task_failed', 'active', 'task-' || n, 'p', 'A title',
            '{"taskStatus":"errored","message":null,"messageLabel":null,"messageTimestamp":null}',
            now(), now() + n * interval '1 s', now()
       from generate_series(1, $2::int) n`,
    [userId, count],
  );
}

test('returns an empty list for an unknown user, over both APIs', async () => {
  expect(await readInbox('nobody')).toEqual([]);
  expect((await page('nobody', '')).ids).toEqual([]);
});

test('notifications do not require membership in an organization', async () => {
  await publish(gateway, 'non-member', 'task_failed', { id: 'alone' });
  const token = await signToken({ sub: 'non-member' });
  const { body } = await rest(gateway, 'GET', '/user/notifications', { token });
  expect(toIds(body.notifications)).toEqual(['alone']);
});

test('users see only their own notifications', async () => {
  await publish(gateway, 'mine', 'task_failed', { id: 'of mine' });
  await publish(gateway, 'yours', 'task_failed', { id: 'of yours' });
  expect(toIds(await readInbox('mine'))).toEqual(['of mine']);
  expect((await page('yours', '')).ids).toEqual(['of yours']);
});

test('returns the newest first; for equal timestamps, the greater ID by code point', async () => {
  const ids = ['a', 'B', 'é', '\uFFFD', '\u{1F600}', 'a-b', 'a b'];
  for (const id of ids) await publish(gateway, 'ordered', 'task_failed', { id });
  await gateway.database.sql(`update notification set created_at = '2026-01-01' where user_id = 'ordered'`);
  await publish(gateway, 'ordered', 'task_failed', { id: '0 but newer' });

  const expected = ['0 but newer', '\u{1F600}', '\uFFFD', 'é', 'a-b', 'a b', 'a', 'B'];
  expect(toIds(await readInbox('ordered'))).toEqual(expected);
  expect((await page('ordered', '')).ids).toEqual(expected);

  // An index happens to return this order; without it only ORDER BY does.
  await gateway.database.sql('drop index notification_newest');
  expect(toIds(await readInbox('ordered'))).toEqual(expected);
});

test('filters by status and kind, each with one or more values, and combines both filters', async () => {
  await publishEveryKindAndStatus('filters');
  const rows: [search: string, args: string, matches: (id: string) => boolean][] = [
    ['', '', () => true],
    ['?status=active', '(filter: { statuses: ACTIVE })', (id) => /\bactive/.test(id)],
    [
      '?status=active&status=dismissed',
      '(filter: { statuses: [ACTIVE, DISMISSED] })',
      (id) => !/resolved/.test(id),
    ],
    ['?kind=task_failed', '(filter: { kinds: [TASK_FAILED] })', (id) => /task_failed/.test(id)],
    [
      '?kind=plan_requested&status=resolved&kind=question_requested',
      '(filter: { kinds: [PLAN_REQUESTED, QUESTION_REQUESTED], statuses: [RESOLVED] })',
      (id) => /_requested resolved/.test(id),
    ],
    ['?status=active&status=active', '(filter: { statuses: [ACTIVE, ACTIVE] })', (id) => /\bactive/.test(id)],
  ];
  const all = toIds(await readInbox('filters'));
  expect(all).toHaveLength(12);
  for (const [search, args, matches] of rows) {
    const expected = all.filter(matches);
    expect(toIds(await readInbox('filters', search)), search).toEqual(expected);
    expect((await page('filters', args)).ids, args).toEqual(expected);
  }
});

test('ignores null filters, and selects nothing by an empty list', async () => {
  await publish(gateway, 'unfiltered', 'task_failed', { id: 'it' });
  expect((await page('unfiltered', '(filter: { statuses: null, kinds: null })')).ids).toEqual(['it']);
  expect((await page('unfiltered', '(filter: { statuses: [] })')).ids).toEqual([]);
});

test('returns all results by default, and a page with limit and offset', async () => {
  await storeMany('many', 230);
  const all = toIds(await readInbox('many'));
  expect(all).toHaveLength(230);
  expect(all[0]).toBe('n-230');

  expect(toIds(await readInbox('many', '?limit=1'))).toEqual(all.slice(0, 1));
  expect(toIds(await readInbox('many', '?limit=100&offset=0'))).toEqual(all.slice(0, 100));
  expect(toIds(await readInbox('many', '?limit=100&offset=200'))).toEqual(all.slice(200));
  expect(toIds(await readInbox('many', '?offset=225'))).toEqual(all.slice(225));
  expect(toIds(await readInbox('many', '?limit=10&offset=230'))).toEqual([]);
  expect(toIds(await readInbox('many', '?limit=2147483647'))).toEqual(all);
  expect(toIds(await readInbox('many', '?status=active&limit=2&offset=3'))).toEqual(all.slice(3, 5));
});

test('paging by cursor neither skips nor repeats notifications while new ones are published', async () => {
  for (const id of ['1', '2', '3', '4', '5']) await publish(gateway, 'stable', 'task_failed', { id });
  const before = (await page('stable', '')).ids;
  const first = await page('stable', '(first: 2)');
  await publish(gateway, 'stable', 'task_failed', { id: 'late' });

  const second = await page('stable', `(first: 10, after: "${first.end}")`);

  expect([...first.ids, ...second.ids]).toEqual(before);
});

test('a cursor remains valid after its own notification left the list', async () => {
  for (const id of ['1', '2', '3', '4']) await publish(gateway, 'leaving', 'task_failed', { id });
  const [, second, third, fourth] = (await page('leaving', '')).ids;
  const first = await page('leaving', '(first: 2, filter: { statuses: ACTIVE })');
  await rest(gateway, 'POST', `/user/notifications/${second}/dismiss`, { token: await member('leaving') });

  expect(
    (await page('leaving', `(first: 2, filter: { statuses: ACTIVE }, after: "${first.end}")`)).ids,
  ).toEqual([third, fourth]);
});
