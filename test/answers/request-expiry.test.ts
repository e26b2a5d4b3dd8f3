import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../src/database/database.ts';
import { createHub } from '../../src/live/hub.ts';
import type { AnswerContent } from '../../src/notifications/answers/answer.ts';
import {
  acknowledgeAnswer,
  answerNotification,
} from '../../src/notifications/answers/answer-notification.ts';
import { awaitRequest } from '../../src/notifications/answers/await-request.ts';
import { sweepRequests } from '../../src/notifications/answers/sweep.ts';
import type { NotificationDependencies } from '../../src/notifications/change-notifications.ts';
import { dismissNotification } from '../../src/notifications/dismiss-notification.ts';
import { findNotification } from '../../src/notifications/notifications.ts';
import { resolveNotifications } from '../../src/notifications/resolve-notifications.ts';
import { deleteBatch } from '../../src/notifications/retention.ts';
import { deleteUser } from '../../src/users/delete-user.ts';
import { toTime } from '../../src/values/time.ts';
import { openTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { currentRevision, listEvents, makeExpired } from '../support/requests.ts';

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

const approve = (id: string, using = dependencies) =>
  answerNotification(
    using,
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

describe.each(operations)('an expiry that is due is stored by %s', (_what, store) => {
  /** Publishes, dismisses if wanted, lets the request expire, and runs the operation. */
  async function expire(onExpiry: AnswerContent | null, isDismissed: boolean) {
    const taskId = randomUUID();
    const id = await publishPlan(onExpiry, taskId);
    if (isDismissed) await dismissNotification(dependencies, USER, id);
    await makeExpired(database, USER, id);
    const before = (await listEvents(database, USER)).length;

    await store(id, taskId);

    const events = (await listEvents(database, USER)).slice(before);
    return { id, events, notification: await findNotification(opened, USER, id) };
  }

  test.each([false, true])('without a default (dismissed: %s)', async (isDismissed) => {
    const { id, events, notification } = await expire(null, isDismissed);

    expect(notification).toMatchObject({
      status: isDismissed ? 'dismissed' : 'resolved',
      requestState: 'expired',
      resolution: 'expired',
      answer: null,
    });
    expect(events).toEqual([`expired ${id}`]);
  });

  test.each([false, true])(
    'with a default, which becomes the answer (dismissed: %s)',
    async (isDismissed) => {
      const { id, events, notification } = await expire(reject, isDismissed);

      expect(notification).toMatchObject({
        status: isDismissed ? 'dismissed' : 'resolved',
        requestState: 'answered',
        resolution: 'answered',
        answer: { ...reject, answerId: null, by: null, via: 'default' },
      });
      expect(events).toEqual([`answered ${id}`]);
    },
  );
});

test('an answer after the expiry reports it: expired, or the default with the time of the expiry', async () => {
  const [expired, defaulted] = [await publishPlan(null), await publishPlan(reject)];
  for (const id of [expired, defaulted]) await makeExpired(database, USER, id);

  expect(await approve(expired)).toMatchObject({
    state: 'expired',
    answer: null,
    isOwn: false,
    isNew: false,
  });
  expect(await approve(defaulted)).toMatchObject({
    state: 'answered',
    answer: { via: 'default' },
    isOwn: false,
    isNew: false,
  });
});

test('a stored expiry is final: neither the sweep nor later changes settle it again', async () => {
  const taskId = randomUUID();
  const id = await publishPlan(null, taskId);
  await makeExpired(database, USER, id);
  await sweepRequests(dependencies);
  const [stored, revision] = [
    await findNotification(opened, USER, id),
    await currentRevision(database, USER),
  ];

  await sweepRequests(dependencies);
  await approve(id);
  await resolveNotifications(dependencies, USER, { taskId }, 'resumed');
  await publishPlan(null, taskId);

  expect(await findNotification(opened, USER, id)).toEqual(stored);
  expect(await currentRevision(database, USER)).toBe(revision + 1);
});

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

test('the times of an answer are equal, whatever the clock does meanwhile', async () => {
  const id = await publishPlan(null);
  // Each call returns a later time.
  await database.sql('create sequence ticks');
  await database.sql(
    `create function public.clock_timestamp() returns timestamptz language sql volatile
       return pg_catalog.now() + pg_catalog.make_interval(secs => nextval('ticks'))`,
  );
  await database.sql(
    `do $$ begin execute format('alter database %I set search_path = public, pg_catalog', current_database()); end $$`,
  );
  const ticking = await openDatabase({ url: database.url, poolSize: 1, timeoutMs: 5000 });
  await approve(id, { ...dependencies, database: ticking });
  await ticking.close();
  await database.sql(
    `do $$ begin execute format('alter database %I reset search_path', current_database()); end $$`,
  );

  const { status, resolvedAt, updatedAt } = await findNotification(opened, USER, id);
  expect([status, updatedAt]).toEqual(['resolved', resolvedAt]);
});

test('an expired request has no receipt', async () => {
  const id = await publishPlan(null);
  await makeExpired(database, USER, id);

  const receipt = { outcome: 'accepted', message: null } as const;
  await expect(
    acknowledgeAnswer(dependencies, { userId: USER, id }, receipt, () => undefined),
  ).rejects.toThrow('The request has no answer.');
  await sweepRequests(dependencies);
});

test('retention deletes settled requests, and no open one, even if it was dismissed long ago', async () => {
  const [open, settled] = [await publishPlan(null), await publishPlan(null)];
  await approve(settled);
  for (const id of [open, settled]) await dismissNotification(dependencies, USER, id);
  await database.sql(`update notification set updated_at = now() - interval '200 days' where id = any($1)`, [
    [open, settled],
  ]);

  const before = toTime(new Date(Date.now() - 90 * 86_400_000));
  expect(await deleteBatch(dependencies, before)).toMatchObject({ deleted: 1 });

  expect(await findNotification(opened, USER, open)).toMatchObject({ requestState: 'open' });
  await expect(findNotification(opened, USER, settled)).rejects.toThrow('Not found.');
});
