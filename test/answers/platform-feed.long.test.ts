import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { poolOptions, preparedPoolOptions } from '../../src/database/pool.ts';
import { SCAN_LIMIT } from '../../src/platform-feed/read-feed.ts';
import { formatEventCursor, parseEventCursor } from '../../src/revisions/event-cursor.ts';
import { createAs } from '../support/as.ts';
import { createTestDatabase, type TestDatabase, waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { countScanned, explainAll } from '../support/plans.ts';
import { startGatewayProcess } from '../support/process.ts';
import { deleteUser } from '../support/records.ts';
import { recordStatements, type Statement } from '../support/statements.ts';
import {
  type FeedEvent,
  followFeed,
  latestCursor,
  readFeedPage,
  readWholeFeed,
  takeEvent,
} from './platform-feed.ts';

/* The order of the platform feed while transactions commit out of order and gateways are killed, and its cost. */

let database: TestDatabase;
let settings: Record<string, string>;
let gateway: TestGateway;
beforeAll(async () => {
  database = await createTestDatabase();
  settings = { ...settingsFor(database), LIVE_SWEEP_MS: '500', LOG_LEVEL: 'error' };
  gateway = await startTestGateway(settings, database);
});
afterAll(async () => {
  await gateway.close();
  await database.drop();
});

const TOKENS = { accessToken: 'a', refreshToken: 'r' };
const INSERT = `insert into platform_event (user_id, type, at) values ($1, 'user.deleted', now())`;

const store = (userId: string, at: { address: string } = gateway) =>
  createAs(at)(userId).connectEditor(TOKENS);

async function begin(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await client.query('begin');
  return client;
}

async function end(client: pg.Client, how: 'commit' | 'rollback' = 'commit'): Promise<void> {
  await client.query(how);
  await client.end();
}

const insert = (client: pg.Client, userId: string) => client.query(INSERT, [userId]);

test('an event that is committed after later ones is delivered after them, and they do not wait for it', async () => {
  const after = await latestCursor(gateway);
  const stream = await followFeed(gateway, { after });
  const [slow, slower] = [await begin(), await begin()];
  await insert(slower, 'slower');
  await insert(slow, 'slow');

  await store('fast');
  expect((await takeEvent(stream)).userId).toBe('fast');
  await end(slow);
  expect((await takeEvent(stream)).userId).toBe('slow');
  await end(slower);
  expect((await takeEvent(stream)).userId).toBe('slower');

  const events = await readWholeFeed(gateway, { after });
  expect(events.map(({ userId }) => userId)).toEqual(['fast', 'slow', 'slower']);
  stream.close();
});

test('a deletion of a user that takes long delays only the events of that user', async () => {
  const after = await latestCursor(gateway);
  const deletion = await begin();
  await store('leaving');
  await eventually(async () => expect(await readWholeFeed(gateway, { after })).toHaveLength(1));
  // Like an event that has no position yet when its user is deleted.
  await database.sql(`update platform_event set position = null where user_id = 'leaving'`);
  await deletion.query(`delete from platform_event where user_id = 'leaving'`);

  await store('staying');

  await eventually(async () => expect(await readWholeFeed(gateway, { after })).toHaveLength(1));
  expect(await waitingSessions(database)).toBe(0);
  await end(deletion);
  await deleteUser(gateway, 'leaving');
  const readUsers = async () => (await readWholeFeed(gateway, { after })).map(({ userId }) => userId);
  await eventually(async () => expect(await readUsers()).toEqual(['staying', 'leaving']));
});

test('a subscriber resumes at another gateway, also after a restart, and wakes for changes of any gateway', async () => {
  const first = await startGatewayProcess(settings);
  const stream = await followFeed(first, { after: await latestCursor(first) });
  await store('moving', gateway);
  const { cursor } = await takeEvent(stream);
  await store('moving', first);
  const { cursor: second } = await takeEvent(stream);
  await first.stop('SIGKILL');
  await store('moving', gateway);
  await deleteUser(gateway, 'others');

  const restarted = await startGatewayProcess(settings);
  const [resumed, elsewhere] = [
    await followFeed(restarted, { after: cursor }),
    await followFeed(gateway, { after: second }),
  ];
  expect((await takeEvent(resumed)).cursor).toBe(second);
  const third = await takeEvent(resumed);
  expect(await takeEvent(elsewhere)).toEqual(third);
  await store('moving', restarted);
  expect(await takeEvent(elsewhere)).toEqual(await takeEvent(resumed));
  elsewhere.close();
  await restarted.stop();
});

test('all readers get every committed event exactly once and in one order, beside 32 writers and killed gateways', async () => {
  await checkFeed({ writers: 32, kills: 12 });
}, 300_000);

describe('the cost of the feed does not depend on the number of events, even if the statistics are wrong:', () => {
  const MANY = 60_000;
  type Selection = { from?: number; first?: number; types?: readonly ['USER_DELETED'] };

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
    ['a later page', { from: 30_000, first: 5 }, 5],
  ])('%s scans a limited number of events', async (_what, { from, ...selection }, maximum) => {
    const { epoch } = parseEventCursor(await latestCursor(gateway), []);
    const after = from === undefined ? undefined : formatEventCursor({ epoch, revision: from });
    const statements = await recordStatements(() => readFeedPage(gateway, { ...selection, after }));

    expect(await measure(short, statements.filter(isOfFeed))).toBeLessThanOrEqual(maximum);
  });

  test('giving positions scans only events without one', async () => {
    const { sql } = gateway.database;
    const statements = await recordStatements(async () => {
      await sql(INSERT, ['new']);
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
});

/**
 * Lets writers change records while other gateways are killed, and transactions with events commit long after others that
 * began later. Checks that all readers of the feed get every committed event exactly once and in one order.
 */
async function checkFeed({ writers, kills }: { writers: number; kills: number }): Promise<void> {
  const start = await latestCursor(gateway);
  const killed = await Promise.all([startGatewayProcess(settings), startGatewayProcess(settings)]);
  const at = (number: number) => [gateway, ...killed][number % 3] ?? gateway;
  const [writing, reading] = [new AbortController(), new AbortController()];
  const readers = [0, 1, 2].flatMap((number) => [
    follow(() => at(number), start, reading.signal),
    poll((turn) => at(number + turn), start, reading.signal),
  ]);
  // Two writers change the credential of each user, which increments a revision of the user.
  const prefix = `writer-${randomUUID()}`;
  const working = Array.from({ length: writers }, async (_none, writer) => {
    for (let change = 0; !writing.signal.aborted; change += 1) {
      const user = `${prefix}-${Math.floor(writer / 2)}`;
      // Whether a gateway that is killed has committed the change is visible in the database only.
      const { disconnectEditor, connectEditor } = createAs(at(writer + change))(user);
      const changed = change % 4 === 3 ? disconnectEditor() : connectEditor(TOKENS);
      await changed.catch(() => undefined);
    }
  });
  const late = commitLate(4 * kills);
  for (let kill = 0; kill < kills; kill += 1) {
    await killed[kill % 2]?.stop('SIGKILL');
    killed[kill % 2] = await startGatewayProcess(settings);
  }
  writing.abort();
  await Promise.all([...working, late]);
  await eventually(async () =>
    expect(await database.sql('select from platform_event where position is null')).toEqual([]),
  );
  reading.abort();
  const seen = await Promise.all(readers);
  await Promise.all(killed.map((one) => one.stop()));

  await expectCommitted({ start: parseEventCursor(start, []).revision, seen, prefix });
}

/** Keeps up to three transactions with events open while others commit, and then commits or rolls back each of them. */
async function commitLate(rounds: number): Promise<void> {
  const open: pg.Client[] = [];
  const endFirst = async (how: 'commit' | 'rollback') => {
    const client = open.shift();
    if (client) await end(client, how);
  };
  for (let round = 0; round < rounds; round += 1) {
    const client = await begin();
    await insert(client, 'late');
    open.push(client);
    const [later] = await database.sql(`${INSERT} returning id`, ['later']);
    await eventually(async () =>
      expect(
        await database.sql('select from platform_event where id = $1 and position > 0', [later?.id]),
      ).toHaveLength(1),
    );
    if (open.length > 3) await endFirst(round % 5 === 0 ? 'rollback' : 'commit');
  }
  while (open.length > 0) await endFirst('commit');
}

/** Follows the feed by a subscription, and resumes it at the gateway that `choose` returns when it ends. */
async function follow(
  choose: () => { address: string },
  start: string,
  reading: AbortSignal,
): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  const cursor = () => events.at(-1)?.cursor ?? start;
  const isComplete = async () => reading.aborted && cursor() === (await latestCursor(gateway));
  while (!(await isComplete())) {
    const stream = await followFeed(reading.aborted ? gateway : choose(), { after: cursor() }).catch(
      () => undefined,
    );
    if (stream === undefined) continue;
    const closedAtEnd = eventually(async () => expect(await isComplete()).toBe(true))
      .catch(() => undefined)
      .then(() => stream.close());
    for (let event = await tryTake(stream); event !== undefined; event = await tryTake(stream))
      events.push(event);
    if (reading.aborted) await closedAtEnd;
    else stream.close();
  }
  return events;
}

const tryTake = (stream: Parameters<typeof takeEvent>[0]) => takeEvent(stream).catch(() => undefined);

/** Reads pages of different sizes, each from another gateway. */
async function poll(
  choose: (turn: number) => { address: string },
  start: string,
  reading: AbortSignal,
): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  let after = start;
  for (let turn = 0; ; turn += 1) {
    const isLast = reading.aborted;
    const at = isLast ? gateway : choose(turn);
    const page = await readFeedPage(at, { after, first: 1 + (turn % 40) }).catch(() => undefined);
    if (page === undefined) continue;
    events.push(...page.events);
    after = page.cursor;
    if (isLast && !page.hasMore) return events;
  }
}

/** Checks what the readers got against the database: the events, and the revisions that the changes incremented. */
async function expectCommitted({
  start,
  seen,
  prefix,
}: {
  start: number;
  seen: FeedEvent[][];
  prefix: string;
}): Promise<void> {
  const stored = await database.sql(
    'select position, user_id, id from platform_event where position > $1 order by position',
    [start],
  );
  const expected = stored.map(({ position, user_id: user }) => `${position} ${user}`);
  for (const events of seen) {
    const found = events.map(({ cursor, userId }) => `${parseEventCursor(cursor, []).revision} ${userId}`);
    expect(found).toEqual(expected);
  }
  const positions = stored.map(({ position }) => Number(position));
  expect(positions).toEqual(stored.map((_event, index) => start + 1 + index));
  const revisions = await database.sql(
    'select user_id as user, editor_auth::int as changes from user_revision where starts_with(user_id, $1)',
    [prefix],
  );
  expect(revisions.length).toBeGreaterThan(0);
  const byUser = Map.groupBy(stored, ({ user_id: user }) => user);
  for (const { user, changes } of revisions) {
    const ids = byUser.get(user)?.map(({ id }) => Number(id)) ?? [];
    expect([user, ids.length]).toEqual([user, changes]);
    // The events of a user are in the order of the user's changes.
    expect(ids).toEqual(ids.toSorted((a, b) => a - b));
  }
}
