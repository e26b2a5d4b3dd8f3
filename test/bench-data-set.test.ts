import pg from 'pg';
import { expect, test } from 'vitest';
import {
  finishDataSet,
  insertCredentials,
  insertNotifications,
  insertWorkspaces,
} from '../bench/data-set.ts';
import { createTestDatabase } from './support/database.ts';

test("the bench's records fit the tables", async () => {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  const population = { prefix: 'reader', users: 2, each: 12 };
  await insertNotifications(client, population);
  await insertWorkspaces(client, population);
  await insertCredentials(client, population, 'bench');
  await finishDataSet(client);

  const { rows } = await client.query(
    'select user_id, notifications, workspaces from user_revision order by user_id',
  );
  expect(rows).toEqual([
    { user_id: 'reader-1', notifications: '12', workspaces: '12' },
    { user_id: 'reader-2', notifications: '12', workspaces: '12' },
  ]);
  await client.end();
  await database.drop();
});
