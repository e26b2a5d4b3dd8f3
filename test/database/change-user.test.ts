import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import {
  acknowledgeAnswer,
  answerNotification,
  storeExpiries,
} from '../../src/notifications/answers/answer-notification.ts';
import {
  changeNotifications,
  type NotificationDependencies,
  readByIds,
} from '../../src/notifications/change-notifications.ts';
import { settleInOrder, toChanges, withdraw } from '../../src/notifications/lifecycle.ts';
import type { NotificationDraft } from '../../src/notifications/notification-draft.ts';
import { publishNotifications } from '../../src/notifications/publish-notifications.ts';
import { resolveNotifications } from '../../src/notifications/resolve-notifications.ts';
import { deleteBatch } from '../../src/notifications/retention.ts';
import { deleteUser } from '../../src/users/delete-user.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, planDraft, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { startProxy } from '../support/proxy.ts';
import { currentRevision, listEvents, makeExpired } from '../support/requests.ts';
import { recordStatements } from '../support/statements.ts';

/* What the store of changes promises. Two databases, as of two processes, because the changes of one take turns. */

const { database, opened, locker, close } = await openTestDatabase(10);
const one = dependenciesOf(opened);
const other = dependenciesOf(await openDatabase({ url: database.url, poolSize: 10, timeoutMs: 5000 }));
afterAll(async () => {
  await other.database.close();
  await close();
});

let user: string;
beforeEach(() => {
  user = randomUUID();
});

const revision = () => currentRevision(database, user);
const approve = (id: string) =>
  answerNotification(
    one,
    user,
    { id, answerId: 'a', given: { plan: { decision: 'approve', feedback: null } }, via: 'rest' },
    [],
  );

/** Lists the user's notifications as `id status resolution`, in the order of their revisions. */
async function listStored(): Promise<unknown[]> {
  const rows = await database.sql(
    `select concat_ws(' ', id, status, resolution) as row from notification where user_id = $1 order by revision`,
    [user],
  );
  return rows.map(({ row }) => row);
}

/** Runs a change, and `overtake` after it has decided for the first time, before that is stored. */
async function overtaken<Result>(change: () => Promise<Result>, overtake: () => Promise<unknown>) {
  const query = pg.Client.prototype.query;
  let overtaking: Promise<unknown> | undefined;
  const spy = vi.spyOn(pg.Client.prototype, 'query').mockImplementation(function (
    this: pg.Client,
    ...args: unknown[]
  ) {
    const send = () => Reflect.apply(query, this, args);
    const isStore = String(Reflect.get(Object(args[0]), 'text')).startsWith('with guard as');
    if (overtaking !== undefined || !isStore) return send();
    overtaking = overtake();
    void overtaking.then(send, send);
  });
  onTestFinished(() => spy.mockRestore());
  const [result] = await Promise.allSettled([change()]);
  await overtaking;
  expect(overtaking, 'nothing was stored').toBeDefined();
  if (result.status === 'rejected') throw result.reason;
  return result.value;
}

describe('what is read is not older than the revision', () => {
  test.each(['before', 'after'])(
    'a change is decided again if another is stored between the revision and %s its rows are read',
    async (when) => {
      await publishPlans(one, user, { id: 'n-1' });
      let attempts = 0;
      const resolved = await changeNotifications(one, user, {
        async read(read) {
          attempts += 1;
          const overtake = async () => {
            if (attempts === 1) await publishPlans(other, user, { id: 'n-2' });
          };
          if (when === 'before') await overtake();
          const states = await read(readByIds, { userId: user, ids: ['n-1', 'n-2'] });
          if (when === 'after') await overtake();
          return states;
        },
        decide(states, moment) {
          const steps = settleInOrder(states, moment, (state, at) => withdraw(state, at, 'resumed'));
          return { ...toChanges(steps), result: steps.length };
        },
      });

      expect({ resolved, attempts }).toEqual({ resolved: [2], attempts: 2 });
      expect(await revision()).toBe(4);
    },
  );

  test('rows are read after a first statement that waits', async () => {
    await publishPlans(one, user, { id: 'n-1', taskId: 'task' });
    await locker.query('begin');
    await locker.query('lock table user_revision');
    const published = publishPlans(one, user, { id: 'n-2', taskId: 'task' });
    await eventually(async () => expect(await waitingSessions(database)).toBe(1));
    await locker.query(
      `update notification set status = 'resolved', resolution = 'resumed', request_state = 'withdrawn',
              resolved_at = now(), revision = 2 where user_id = $1`,
      [user],
    );
    await locker.query('update user_revision set notifications = 2 where user_id = $1', [user]);
    await locker.query('commit');
    await published;

    expect(await listStored()).toEqual(['n-1 resolved resumed', 'n-2 active']);
    expect(await revision()).toBe(3);
  });
});

describe('whatever changes what decisions read moves the revision', () => {
  const mark = (using = one) =>
    resolveNotifications(
      using,
      user,
      { taskId: 'task', occurredUpTo: '2026-01-01T00:00:00.000Z' },
      'resumed',
    );
  const answered = async () => {
    await publishPlans(one, user, { id: 'n' });
    await approve('n');
  };
  const old = async () => {
    await answered();
    await database.sql(`update notification set updated_at = '2020-01-01Z' where user_id = $1`, [user]);
  };
  const expired = async () => {
    await publishPlans(one, user, { id: 'n', expiresInSeconds: 600 });
    await makeExpired(database, user, 'n');
  };
  const receive = () =>
    acknowledgeAnswer(
      one,
      { userId: user, id: 'n' },
      { outcome: 'accepted', message: null },
      () => undefined,
    );

  test.each<[string, () => Promise<unknown>, () => Promise<unknown>]>([
    ['a mark of a resolution that matches nothing', async () => undefined, mark],
    ['retention', old, () => deleteBatch(one, '2020-02-01T00:00:00.000Z')],
    ['a receipt', answered, receive],
    ['an expiry', expired, () => storeExpiries(one, user, ['n'])],
  ])('%s', async (_what, prepare, change) => {
    await prepare();
    const before = await revision();
    await change();
    expect(await revision()).toBe(before + 1);
  });

  test('so that a publication that a mark overtakes is resolved by it', async () => {
    await publishPlans(one, user, { id: 'earlier' });
    const draft = { id: 'n', taskId: 'task', occurredAt: '2026-01-01T00:00:00.000Z' } as const;
    await overtaken(
      () => publishPlans(one, user, draft),
      () => mark(other),
    );

    expect(await listStored()).toEqual(['earlier active', 'n resolved resumed']);
    expect(await listEvents(database, user)).toEqual(['withdrawn n']);
  });
});

test('each change has a revision of its own, up to that of the user, also if a batch supersedes what it publishes', async () => {
  await publishPlans(one, user, { id: 'before', taskId: 'task' });
  const ids = ['n-1', 'n-2', 'n-3'];
  await publishPlans(one, user, ...ids.map((id) => ({ id, taskId: 'task' })));
  await publishPlans(one, user, { id: 'after' });

  const stored = await database.sql(
    'select id, revision::int from notification where user_id = $1 order by revision',
    [user],
  );
  expect(stored).toEqual([
    { id: 'before', revision: 2 },
    { id: 'n-1', revision: 4 },
    { id: 'n-2', revision: 6 },
    { id: 'n-3', revision: 7 },
    { id: 'after', revision: 8 },
  ]);
  expect(await revision()).toBe(8);
});

test('a decision about a row that does not exist any more fails, and nothing of it is stored', async () => {
  await publishPlans(one, user, { id: 'n' });
  const remove = () => database.sql('delete from notification where user_id = $1', [user]);

  await expect(overtaken(() => approve('n'), remove)).rejects.toThrow('division by zero');

  expect(await listEvents(database, user)).toEqual([]);
  expect(await revision()).toBe(1);
});

test('a batch of a task token makes room by notifications that it publishes and supersedes itself', async () => {
  const result = {
    taskStatus: 'errored',
    message: null,
    messageLabel: null,
    messageTimestamp: null,
  } as const;
  const publishAsTask = (drafts: Partial<NotificationDraft>[]) => {
    const toRequest = (given: Partial<NotificationDraft>) => ({
      userId: user,
      draft: planDraft({ taskId: 'task', payload: result, ...given }),
      path: [],
    });
    return publishNotifications(one, drafts.map(toRequest), true);
  };
  // Two fewer than the maximum, all active.
  const ready = { kind: 'task_response_ready', supersedes: 'nothing' } as const;
  await publishAsTask(Array(198).fill(ready));
  const ids = ['n-1', 'n-2', 'n-3', 'n-4'];
  const published = await publishAsTask(ids.map((id) => ({ kind: 'task_failed', id })));

  expect(published.map(({ created }) => created)).toEqual([true, true, true, true]);
  const stored = await listStored();
  expect(stored).toHaveLength(200);
  expect(stored.slice(-2)).toEqual(['n-3 resolved superseded', 'n-4 active']);
  expect(await revision()).toBe(198 + 7);
});

describe('a user who is deleted after a change was decided', () => {
  test('is not stored again by it', async () => {
    await publishPlans(one, user, { id: 'n' });
    const remove = () => deleteUser(other, user);
    await expect(overtaken(() => approve('n'), remove)).rejects.toThrow('Not found.');
    expect(await database.sql('select from user_revision where user_id = $1', [user])).toEqual([]);
  });

  test('is a new user if a publication was decided for the old one, even at the same revision', async () => {
    await publishPlans(one, user, { id: 'old', taskId: 'task' });
    const published = overtaken(
      () => publishPlans(one, user, { id: 'next', taskId: 'task' }),
      async () => {
        await deleteUser(other, user);
        await publishPlans(other, user, { id: 'new', taskId: 'task' });
      },
    );

    expect(await published).toEqual(['next']);
    expect(await listStored()).toEqual(['new resolved superseded', 'next active']);
    expect(await listEvents(database, user)).toEqual(['user.deleted', 'withdrawn new']);
  });

  test('of two first publications, the later one is decided again', async () => {
    await overtaken(
      () => publishPlans(one, user, { id: 'later', taskId: 'task' }),
      () => publishPlans(other, user, { id: 'first', taskId: 'task' }),
    );

    expect(await listStored()).toEqual(['first resolved superseded', 'later active']);
    expect(await revision()).toBe(3);
  });
});

describe('turns of the changes of one user', () => {
  async function openWith(timeoutMs: number, url = database.url): Promise<NotificationDependencies> {
    const brief = await openDatabase({ url, poolSize: 5, timeoutMs });
    onTestFinished(() => brief.close());
    return dependenciesOf(brief);
  }

  const start = (using: NotificationDependencies, count: number, draft: Partial<NotificationDraft> = {}) => {
    const started = performance.now();
    return Array.from({ length: count }, async () => {
      const [end] = await Promise.allSettled([publishPlans(using, user, draft)]);
      const reason = String(end.status === 'rejected' ? end.reason : undefined);
      return { ms: performance.now() - started, reason };
    });
  };

  test('256 wait; another is refused at once; and all are refused when their time has passed, with nothing stored', async () => {
    const brief = await openWith(1000);
    await publishPlans(one, user, {});
    await locker.query('begin');
    await locker.query('select from user_revision where user_id = $1 for update', [user]);
    const results = start(brief, 258);

    const refused = await results.at(-1);
    expect(refused?.reason).toContain('256 changes of one user wait');
    expect(refused?.ms).toBeLessThan(500);
    const ends = await Promise.all(results.slice(0, -1));
    await locker.query('rollback');

    expect(ends[0]?.reason).toMatch(/timeout/);
    for (const { reason } of ends.slice(1)) expect(reason).toContain('turn of the change did not come');
    expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(2000);
    expect(await revision()).toBe(1);
    // A later change has its turn.
    await publishPlans(brief, user, {});
    expect(await revision()).toBe(2);
  });

  test('200 publications in one slot at once, over two databases, are stored within five seconds', async () => {
    const ends = await Promise.all([one, other].flatMap((using) => start(using, 100, { taskId: 'task' })));

    expect(new Set(ends.map(({ reason }) => reason))).toEqual(new Set(['undefined']));
    expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(5000);
    const stored = await listStored();
    expect(stored).toHaveLength(200);
    expect(stored.findIndex((row) => String(row).endsWith(' active'))).toBe(199);
    // Each but the last is published and superseded.
    expect(await revision()).toBe(399);
  });

  test('if PostgreSQL hangs while 200 wait, all end within the timeout and a second', async () => {
    const url = new URL(database.url);
    const proxy = await startProxy(Number(url.port));
    onTestFinished(() => proxy.close());
    url.port = String(proxy.port);
    const proxied = await openWith(1000, url.href);
    await publishPlans(proxied, user, {});
    await proxy.setState('stall');

    const ends = await Promise.all(start(proxied, 200));

    expect(ends.map(({ reason }) => reason)).not.toContain('undefined');
    expect(Math.max(...ends.map(({ ms }) => ms))).toBeLessThan(2000);
    expect(await revision()).toBe(1);
  });
});

describe('decisions read the content of a repeated ID only', () => {
  const draft = { id: 'n', taskId: 'task', expiresInSeconds: 600 };
  const content = /^select \*|"payload"|"answer"|"on_expiry"(?! is not null)/;

  test.each<[string, number, () => Promise<unknown>]>([
    ['publishing', 0, () => publishPlans(one, user, { ...draft, id: 'new' })],
    ['publishing it again', 1, () => publishPlans(one, user, draft)],
    ['resolving', 0, () => resolveNotifications(one, user, { taskId: 'task' }, 'resumed')],
    ['resolving by ID', 0, () => resolveNotifications(one, user, { ids: ['n'] }, 'resumed')],
    ['storing an expiry', 0, () => storeExpiries(one, user, ['n'])],
  ])('%s: %i statements', async (_what, expected, change) => {
    await publishPlans(one, user, draft);
    const reads = (await recordStatements(change)).filter(({ text }) => text.startsWith('select'));

    expect(reads.length).toBeGreaterThan(1);
    expect(reads.filter(({ text }) => content.test(text))).toHaveLength(expected);
  });
});

describe('1,200 notifications of a task in slots of their own', () => {
  const inSlot = { taskId: 'task', supersedes: 'nothing' } as const;
  const supersede = () => publishPlans(one, user, { id: 'successor', taskId: 'task' });
  const resolve = () => resolveNotifications(one, user, { taskId: 'task' }, 'resumed');
  const countActive = async () =>
    (await listStored()).filter((row) => String(row).endsWith(' active')).length;

  test.each<[string, () => Promise<unknown[]>, number]>([
    ['superseded', supersede, 1],
    ['resolved', resolve, 1200],
  ])('are %s whole, in steps of 500, in one transaction', async (_how, change, results) => {
    for (const batch of [0, 400, 800]) {
      const drafts = Array.from({ length: 400 }, (_none, n) => ({ id: `n-${batch + n}`, ...inSlot }));
      await publishPlans(one, user, ...drafts);
    }
    // Only the last of them cannot be stored.
    await database.sql(
      `alter table notification add constraint no_last check (not (user_id = '${user}' and id = 'n-1199' and status <> 'active')) not valid`,
    );
    await expect(change()).rejects.toThrow('no_last');
    expect(await countActive()).toBe(1200);
    expect(await revision()).toBe(1200);
    expect(await listEvents(database, user)).toEqual([]);
    await database.sql('alter table notification drop constraint no_last');

    const statements = await recordStatements(async () => expect(await change()).toHaveLength(results));

    const sent = statements.map(({ text }) => text.split(' (')[0]);
    expect(sent.filter((text) => text === 'with guard as')).toHaveLength(3);
    expect(sent.filter((text) => text === 'begin' || text === 'commit')).toEqual(['begin', 'commit']);
    expect(await countActive()).toBe(change === supersede ? 1 : 0);
    expect(await revision()).toBe(change === supersede ? 2401 : 2400);
    const events = await listEvents(database, user);
    expect(new Set(events).size).toBe(1200);
  });
});
