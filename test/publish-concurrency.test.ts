import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { asMember, type Kind, payloads, publish, resolve } from './support/records.ts';
import { member, platform } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const task = { id: 'task', projectId: 'project' };

function times<Result>(count: number, work: (index: number) => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)));
}

async function stored(userId: string) {
  return gateway.database.sql(
    'select id, kind, status, resolved_by, revision::int from notification where user_id = $1 order by revision',
    [userId],
  );
}

async function reached(userId: string): Promise<number> {
  const [row] = await gateway.database.sql(
    'select notifications::int as reached from user_revision where user_id = $1',
    [userId],
  );
  return Number(row?.reached);
}

test('of many published at once for one task and kind exactly one is active: the one that came last', async () => {
  const ids = await times(20, (n) => publish(gateway, 'burst', 'plan_requested', { id: `n-${n}`, task }));

  const rows = await stored('burst');
  expect(rows).toHaveLength(ids.length);
  expect(rows.filter(({ status }) => status === 'active')).toEqual([rows.at(-1)]);
  for (const row of rows.slice(0, -1))
    expect(row).toMatchObject({ status: 'resolved', resolved_by: 'superseded' });
});

test('of many retries at once one creates the notification and the others answer it', async () => {
  const query = `mutation ($input: PublishNotificationInput!) {
    publishNotification(input: $input) { created notification { ... on UserNotification { id createdAt } } }
  }`;
  const input = { userId: 'retries', id: 'mine', task, title: 'T', payload: payloads.task_failed };
  const token = await platform();

  const replies = await times(10, () => graphql(gateway, query, { input }, { token }));

  for (const { errors } of replies) expect(errors).toEqual([]);
  const answers = replies.map(({ data }) => data.publishNotification);
  expect(answers.filter(({ created }) => created)).toHaveLength(1);
  expect(new Set(answers.map(({ notification }) => JSON.stringify(notification))).size).toBe(1);
  expect(await stored('retries')).toHaveLength(1);
});

test('of other contents under one id at once one is stored and the others are conflicts', async () => {
  const query =
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
  const input = { userId: 'rivals', id: 'taken', task, payload: payloads.task_failed };
  const token = await platform();

  const replies = await times(8, (n) =>
    graphql(gateway, query, { input: { ...input, title: `Title ${n}` } }, { token }),
  );

  expect(replies.filter(({ data }) => data.publishNotification?.created)).toHaveLength(1);
  const refused = replies.filter(({ errors }) => errors[0]?.extensions.code === 'CONFLICT');
  expect(refused).toHaveLength(replies.length - 1);
});

test('every change takes a revision of its own: no two share one, and they rise with each change', async () => {
  const user = 'revisions';
  await publish(gateway, user, 'plan_requested', { id: 'a', task });
  expect(await stored(user)).toMatchObject([{ id: 'a', revision: 1 }]);

  await publish(gateway, user, 'plan_requested', { id: 'b', task });
  expect(await stored(user)).toMatchObject([
    { id: 'a', revision: 2 },
    { id: 'b', revision: 3 },
  ]);

  await publish(gateway, user, 'task_failed', { id: 'c', task });
  await resolve(gateway, user, task.id);
  expect(await stored(user)).toMatchObject([
    { id: 'a', revision: 2 },
    { id: 'b', revision: 5 },
    { id: 'c', revision: 6 },
  ]);

  await asMember(gateway, user, 'mutation { dismissNotification(input: { id: "a" }) { __typename } }');
  expect((await stored(user)).at(-1)).toMatchObject({ id: 'a', revision: 7 });
  expect(await reached(user)).toBe(7);
});

test('publishing, resolving and dismissing at once break no rule', async () => {
  const user = 'mixed';
  const kinds = Object.keys(payloads) as Kind[];
  const tasks = ['one', 'two'].map((id) => ({ id, projectId: 'project' }));
  const token = await member(user);
  const dismiss = 'mutation ($id: ID!) { dismissNotification(input: { id: $id }) { __typename } }';

  await times(40, async (n) => {
    const kind = kinds[n % kinds.length];
    const { id } = await publish(gateway, user, kind, { id: `n-${n}`, task: tasks[n % 2] });
    if (n % 5 === 0) await resolve(gateway, user, n % 2 === 0 ? 'one' : 'two');
    if (n % 3 === 0) {
      const replies = await times(2, () => graphql(gateway, dismiss, { id }, { token }));
      for (const { errors } of replies) expect(errors).toEqual([]);
    }
  });

  const rows = await stored(user);
  expect(rows).toHaveLength(40);
  expect(new Set(rows.map(({ revision }) => revision)).size).toBe(40);
  expect(rows.at(-1)?.revision).toBe(await reached(user));
  const broken = await gateway.database.sql(
    `select * from notification where user_id = $1 and (
       (status = 'active' and (resolved_at is not null or dismissed_at is not null)) or
       (status = 'resolved' and (resolved_at is null or dismissed_at is not null)) or
       (status = 'dismissed' and dismissed_at is null) or
       ((resolved_at is null) <> (resolved_by is null)) or updated_at < created_at)`,
    [user],
  );
  expect(broken).toEqual([]);
});

test('a revision counts for its own user alone', async () => {
  await times(6, (n) => publish(gateway, `own-${n % 2}`, 'task_failed', { id: `n-${n}` }));
  for (const user of ['own-0', 'own-1']) {
    expect((await stored(user)).map(({ revision }) => revision)).toEqual([1, 2, 3]);
  }
});
