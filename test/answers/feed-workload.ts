import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { expect } from 'vitest';
import { parseEventCursor } from '../../src/revisions/event-cursor.ts';
import { createAs } from '../support/as.ts';
import type { TestDatabase } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/process.ts';
import { type FeedEvent, followFeed, latestCursor, readFeedPage, takeEvent } from './platform-feed.ts';

const STORE =
  'mutation { storeEditorSubscription(input: { accessToken: "a", refreshToken: "r" }) { __typename } }';
const DELETE = 'mutation { deleteEditorAuth { __typename } }';

/**
 * Lets writers change records while gateways are killed, and transactions with events commit long after others that
 * began later. Checks that all readers of the feed get every committed event exactly once and in one order. `stable` is
 * never killed.
 */
export async function checkFeed(
  stable: TestGateway,
  settings: Record<string, string>,
  { writers, kills }: { writers: number; kills: number },
): Promise<void> {
  const { database } = stable;
  const start = await latestCursor(stable);
  const killed = await Promise.all([startGatewayProcess(settings), startGatewayProcess(settings)]);
  const at = (number: number) => [stable, ...killed][number % 3] ?? stable;
  const [writing, reading] = [new AbortController(), new AbortController()];
  const readers = [0, 1, 2].flatMap((number) => [
    follow(() => at(number), start, stable, reading.signal),
    poll((turn) => at(number + turn), start, stable, reading.signal),
  ]);
  // Two writers change the credential of each user, which increments a revision of the user.
  const prefix = `writer-${randomUUID()}`;
  const working = Array.from({ length: writers }, async (_none, writer) => {
    for (let change = 0; !writing.signal.aborted; change += 1) {
      const user = `${prefix}-${Math.floor(writer / 2)}`;
      // Whether a gateway that is killed has committed the change is visible in the database only.
      await createAs(at(writer + change))(user)
        .run(change % 4 === 3 ? DELETE : STORE)
        .catch(() => undefined);
    }
  });
  const late = commitLate(database, 4 * kills);
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
  await Promise.all(killed.map((gateway) => gateway.stop()));

  await expectCommitted(database, { start: parseEventCursor(start, []).revision, seen, prefix });
}

/** Keeps up to three transactions with events open while others commit, and then commits or rolls back each of them. */
async function commitLate({ url, sql }: TestDatabase, rounds: number): Promise<void> {
  const insert = `insert into platform_event (user_id, type, at) values ($1, 'contact.suspended', now()) returning id`;
  const open: pg.Client[] = [];
  const end = async (how: 'commit' | 'rollback') => {
    const client = open.shift();
    await client?.query(how);
    await client?.end();
  };
  for (let round = 0; round < rounds; round += 1) {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('begin');
    await client.query(insert, ['late']);
    open.push(client);
    const [later] = await sql(insert, ['later']);
    await eventually(async () =>
      expect(
        await sql('select from platform_event where id = $1 and position > 0', [later?.id]),
      ).toHaveLength(1),
    );
    if (open.length > 3) await end(round % 5 === 0 ? 'rollback' : 'commit');
  }
  while (open.length > 0) await end('commit');
}

/** Follows the feed by a subscription, and resumes it at the gateway that `choose` returns when it ends. */
async function follow(
  choose: () => { address: string },
  start: string,
  stable: TestGateway,
  reading: AbortSignal,
): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  const cursor = () => events.at(-1)?.cursor ?? start;
  const isComplete = async () => reading.aborted && cursor() === (await latestCursor(stable));
  while (!(await isComplete())) {
    const gateway = reading.aborted ? stable : choose();
    const stream = await followFeed(gateway, { after: cursor() }).catch(() => undefined);
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
  stable: TestGateway,
  reading: AbortSignal,
): Promise<FeedEvent[]> {
  const events: FeedEvent[] = [];
  let after = start;
  for (let turn = 0; ; turn += 1) {
    const isLast = reading.aborted;
    const gateway = isLast ? stable : choose(turn);
    const page = await readFeedPage(gateway, { after, first: 1 + (turn % 40) }).catch(() => undefined);
    if (page === undefined) continue;
    events.push(...page.events);
    after = page.cursor;
    if (isLast && !page.hasMore) return events;
  }
}

/** Checks what the readers got against the database: the events, and the revisions that the changes incremented. */
async function expectCommitted(
  database: TestDatabase,
  { start, seen, prefix }: { start: number; seen: FeedEvent[][]; prefix: string },
): Promise<void> {
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
