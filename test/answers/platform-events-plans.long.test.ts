import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { poolOptions, preparedPoolOptions } from '../../src/database/pool.ts';
import { SCAN_LIMIT } from '../../src/platform-feed/read-feed.ts';
import { formatEventCursor, parseEventCursor } from '../../src/revisions/event-cursor.ts';
import { createTestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { countScanned, explainAll } from '../support/plans.ts';
import { recordStatements, type Statement } from '../support/statements.ts';
import { latestCursor, readFeedPage } from './platform-feed.ts';

/* The cost of the platform feed does not depend on the number of events, even if the statistics are wrong. */

const MANY = 60_000;

let gateway: TestGateway;
let short: pg.Client;
let main: pg.Client;
beforeAll(async () => {
  const database = await createTestDatabase();
  await database.sql('alter table platform_event set (autovacuum_enabled = false)');
  await database.sql(
    `insert into platform_event (user_id, type, at)
     select 'user-' || n % 1000, case when n % 10000 = 0 then 'user.deleted' else 'contact.suspended' end, now()
       from generate_series(1, $1::int) n`,
    [MANY],
  );
  // The statistics say that no event has a position.
  await database.sql('analyze platform_event');
  await database.sql('update platform_event set position = id');
  await database.sql('update platform_feed set last_position = (select max(position) from platform_event)');
  gateway = await startTestGateway({}, database);
  const options = { url: database.url, poolSize: 1, timeoutMs: 30_000 };
  short = new pg.Client(preparedPoolOptions(options));
  main = new pg.Client(poolOptions(options));
  await Promise.all([short.connect(), main.connect()]);
});
afterAll(async () => {
  await Promise.all([short.end(), main.end()]);
  const { database } = gateway;
  await gateway.close();
  await database.drop();
});

const isOfFeed = ({ text }: Statement) => text.includes('"platform_event"') && !text.startsWith('insert');

async function measure(client: pg.Client, statements: readonly Statement[], own?: string): Promise<number> {
  expect(statements.length).toBeGreaterThan(0);
  const plans = await explainAll(client, statements, own);
  return Math.max(...plans.map((plan) => countScanned(plan, 'platform_event')));
}

test.each<[what: string, selection: Selection, maximum: number]>([
  ['the first page', {}, 100],
  ['the first page of a type', { types: ['USER_DELETED'] }, SCAN_LIMIT],
  ['a later page', { after: 30_000, first: 5 }, 5],
  ['a later page of a type', { after: 30_000, types: ['USER_DELETED'] }, SCAN_LIMIT],
])('%s scans a limited number of events', async (_what, { after, ...selection }, maximum) => {
  const { epoch } = parseEventCursor(await latestCursor(gateway), []);
  const cursor = after === undefined ? undefined : formatEventCursor({ epoch, revision: after });
  const statements = await recordStatements(() => readFeedPage(gateway, { ...selection, after: cursor }));

  expect(await measure(short, statements.filter(isOfFeed))).toBeLessThanOrEqual(maximum);
});

type Selection = { after?: number; first?: number; types?: readonly ['USER_DELETED'] };

test('giving positions scans only events without one', async () => {
  const { sql } = gateway.database;
  const statements = await recordStatements(async () => {
    await sql(`insert into platform_event (user_id, type, at) values ('new', 'user.deleted', now())`);
    await eventually(async () =>
      expect(await sql(`select from platform_event where position > ${MANY}`)).toHaveLength(1),
    );
  });
  await sql(
    `insert into platform_event (user_id, type, at) select 'new', 'user.deleted', now() from generate_series(1, 3)`,
  );

  const ofGateway = statements.filter((one) => isOfFeed(one) && /"position" is null/.test(one.text));
  expect(ofGateway.length).toBeGreaterThan(1);
  // Each event is found, joined and updated. The gateway sets the same in its transaction.
  const own = 'set local enable_hashjoin = off; set local enable_mergejoin = off';
  expect(await measure(main, ofGateway, own)).toBeLessThanOrEqual(3 * 3);
});
