import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Database } from '../../src/database/database.ts';
import { sweepRequests } from '../../src/notifications/answers/sweep.ts';
import type { NotificationDependencies } from '../../src/notifications/change-notifications.ts';
import { deleteUser } from '../../src/users/delete-user.ts';
import { openTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { listEvents, makeExpired } from '../support/requests.ts';

/*
 * Sweeps without a gateway, whose own would interfere. That every change stores an expiry that is due is a property in
 * lifecycle.test.ts and property.long.test.ts.
 */

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

/** Publishes a plan that expires in ten minutes. */
async function publishPlan(userId: string): Promise<string> {
  const [id = expect.unreachable()] = await publishPlans(dependencies, userId, { expiresInSeconds: 600 });
  return id;
}

test('concurrent sweeps store each expiry once', async () => {
  const ids = await Promise.all(Array.from({ length: 12 }, () => publishPlan(USER)));
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
  for (const user of [first, deleted]) await makeExpired(database, user, await publishPlan(user));
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
