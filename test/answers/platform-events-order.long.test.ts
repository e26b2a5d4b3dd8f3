import { afterAll, beforeAll, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { checkFeed } from '../support/feed-workload.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';

let database: TestDatabase;
let settings: Record<string, string>;
let gateway: TestGateway;
beforeAll(async () => {
  database = await createTestDatabase();
  settings = { ...settingsFor(database), LOG_LEVEL: 'error' };
  gateway = await startTestGateway(settings, database);
});
afterAll(async () => {
  await gateway.close();
  await database.drop();
});

test('all readers get every committed event exactly once and in one order, through thousands of changes and many kills', async () => {
  for (let round = 0; round < 5; round += 1) await checkFeed(gateway, settings, { writers: 32, kills: 12 });
}, 1_200_000);
