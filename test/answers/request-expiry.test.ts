import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { createHub } from '../../src/live/hub.ts';
import type { AnswerContent } from '../../src/notifications/answers/answer.ts';
import { answerNotification } from '../../src/notifications/answers/answer-notification.ts';
import { awaitRequest } from '../../src/notifications/answers/await-request.ts';
import { sweepRequests } from '../../src/notifications/answers/sweep.ts';
import type { NotificationDependencies } from '../../src/notifications/change-notifications.ts';
import { dismissNotification } from '../../src/notifications/dismiss-notification.ts';
import { findNotification } from '../../src/notifications/notifications.ts';
import { resolveNotifications } from '../../src/notifications/resolve-notifications.ts';
import { deleteUser } from '../../src/users/delete-user.ts';
import { openTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { listEvents, makeExpired } from '../support/requests.ts';

/* No gateway runs, so that nothing but the called function can store an expiry. */

const USER = 'alice';

let database: TestDatabase;
let opened: Database;
let locker: pg.Client;
let close: () => Promise<void>;
let dependencies: NotificationDependencies;
beforeAll(async () => {
  ({ database, opened, locker, close } = await openTestDatabase(5));
  dependencies = dependenciesOf(opened);
});
afterAll(() => close());

const reject: AnswerContent = { plan: { decision: 'reject', feedback: null } };

/** Publishes a plan that expires in ten minutes. */
async function publishPlan(onExpiry: AnswerContent | null, taskId?: string, userId = USER): Promise<string> {
  const given = { expiresInSeconds: 600, onExpiry, ...(taskId !== undefined && { taskId }) };
  const [id = expect.unreachable()] = await publishPlans(dependencies, userId, given);
  return id;
}

const approve = (id: string) =>
  answerNotification(
    dependencies,
    USER,
    { id, answerId: randomUUID(), given: { plan: { decision: 'approve', feedback: null } }, via: 'rest' },
    [],
  );
const viewer = {
  userId: 'platform',
  caller: 'platform',
  scopes: new Set<never>(),
  isMember: false,
  expiresAt: 0,
  signedBy: '',
};
const wait = (id: string) =>
  awaitRequest(
    { ...dependencies, viewer, hub: createHub(10), onLeave: () => undefined },
    { userId: USER, id },
    0,
    () => undefined,
  );

/** What can store an expiry. */
const operations: [string, (id: string, taskId: string) => Promise<unknown>][] = [
  ['the sweep', () => sweepRequests(dependencies)],
  ['an answer', (id) => approve(id)],
  ['a wait', (id) => wait(id)],
  ['publishing a successor', (_id, taskId) => publishPlan(null, taskId)],
  [
    'resolving the task',
    (_id, taskId) => resolveNotifications(dependencies, USER, { taskId }, 'task_deleted'),
  ],
  ['resolving by ID', (id) => resolveNotifications(dependencies, USER, { ids: [id] }, 'resumed')],
];

test.each(operations)(
  'an expiry that is due is stored by %s, with or without a default',
  async (_what, store) => {
    for (const [onExpiry, expected] of [
      [null, { status: 'dismissed', requestState: 'expired', resolution: 'expired', answer: null }],
      [
        reject,
        {
          status: 'resolved',
          requestState: 'answered',
          resolution: 'answered',
          answer: { ...reject, answerId: null, by: null, via: 'default' },
        },
      ],
    ] as const) {
      const taskId = randomUUID();
      const id = await publishPlan(onExpiry, taskId);
      if (expected.status === 'dismissed') await dismissNotification(dependencies, USER, id);
      await makeExpired(database, USER, id);
      const before = (await listEvents(database, USER)).length;

      await store(id, taskId);

      expect((await listEvents(database, USER)).slice(before)).toEqual([`${expected.requestState} ${id}`]);
      expect(await findNotification(opened, USER, id)).toMatchObject(expected);
    }
  },
);

test('concurrent sweeps store each expiry once', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => publishPlan(null)));
  for (const id of ids) await makeExpired(database, USER, id);
  const before = await listEvents(database, USER);

  await Promise.all(Array.from({ length: 4 }, () => sweepRequests(dependencies)));

  const events = (await listEvents(database, USER)).slice(before.length);
  expect(events.toSorted()).toEqual(ids.map((id) => `expired ${id}`).toSorted());
});

test.each([
  ['without channels', {}],
  ['with a channel', { SMTP_URL: 'smtp://127.0.0.1:2525', SMTP_FROM: 'gateway@example.com' }],
])('the sweep stores nothing of a user who is deleted meanwhile, %s', async (_what, settings) => {
  const [first, deleted] = [`first-${randomUUID()}`, `deleted-${randomUUID()}`];
  for (const user of [first, deleted])
    await makeExpired(database, user, await publishPlan(null, 'task', user));
  await database.sql(
    `update notification set expires_at = expires_at - interval '1 hour' where user_id = $1`,
    [first],
  );

  await locker.query('begin');
  await locker.query('select from notification where user_id = $1 for update', [first]);
  const sweeping = sweepRequests(dependenciesOf(opened, settings));
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  await deleteUser(dependencies, deleted);
  await locker.query('commit');
  await sweeping;

  const stored = await database.sql('select user_id from user_revision where user_id = any($1)', [
    [first, deleted],
  ]);
  expect(stored).toEqual([{ user_id: first }]);
});
