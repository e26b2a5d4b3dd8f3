import { afterAll, beforeAll, expect, test } from 'vitest';
import { notificationList } from '../../src/notifications/notifications.ts';
import { workspaceList } from '../../src/workspaces/workspaces.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { openTestDatabase } from '../support/database.ts';

const { database, opened, close } = await openTestDatabase(2);
beforeAll(async () => {
  await insertRecords(database, 'notification', 1000, { user_id: "'alice'" });
  await insertRecords(database, 'workspace', 1000, { user_id: "'alice'" });
  // Without statistics, PostgreSQL expects so few records that a plan for the values is no cheaper.
  await database.sql('analyze notification, workspace');
});
afterAll(close);

const page = { limit: 2 };

// PostgreSQL plans a statement for its values five times before it decides.
test.each([
  ['notifications', 'short', () => notificationList.read(opened, 'alice', { filter: {}, page })],
  ['workspaces', 'short', () => workspaceList.read(opened, 'alice', { filter: {}, page })],
  [
    'a part of a long list',
    'long',
    () => notificationList.read(opened, 'alice', { filter: {}, page: { ...page, isPart: true } }),
  ],
] as const)('PostgreSQL plans a page of %s once per connection', async (_list, connection, list) => {
  for (let count = 0; count < 10; count += 1) expect(await list()).toHaveLength(2);

  const [plans] = await opened[connection].query({
    text: `select sum(custom_plans)::int as custom, sum(generic_plans)::int as generic from pg_prepared_statements`,
  });
  expect(plans).toEqual({ custom: 0, generic: expect.any(Number) });
  expect(plans?.generic).toBeGreaterThanOrEqual(10);
});
