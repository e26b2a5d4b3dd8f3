import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type AttemptOutcome,
  pauseProvider,
  rejectTarget,
  requireOperator,
} from '../../src/delivery/outcome.ts';
import { createProvider } from '../../src/delivery/providers.ts';
import { createChoice } from '../../src/delivery/turns.ts';
import { listStored, registerPush, unreachableProviders } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startPushService } from '../support/push-service.ts';
import { publish } from '../support/records.ts';

/* What the endpoints of some users reply must not delay the messages of others to the same host. */

test('a host is not paused for others if four users have 503 with `Retry-After: 86400` or 403', async () => {
  const service = await startPushService((response) => {
    const path = response.req.url ?? '';
    if (path.startsWith('/unavailable')) response.writeHead(503, { 'Retry-After': '86400' }).end();
    else response.writeHead(path.startsWith('/refused') ? 403 : 201).end();
  });
  const { VAPID_PRIVATE_KEY, VAPID_SUBJECT } = unreachableProviders;
  const gateway = await startTestGateway({
    VAPID_PRIVATE_KEY,
    VAPID_SUBJECT,
    PUSH_ALLOWED_HOSTS: service.host,
  });
  onTestFinished(async () => {
    await gateway.close();
    await service.close();
  });
  const register = (user: string) => registerPush(gateway, user, `https://${service.host}/${user}`);
  for (const user of ['unavailable-1', 'refused-1', 'unavailable-2', 'refused-2']) {
    await register(user);
    for (let count = 0; count < 2; count += 1) await publish(gateway, user);
    await eventually(async () =>
      expect(await listStored(gateway.database, user)).not.toContain('push pending'),
    );
  }
  await register('victim');
  for (let count = 0; count < 11; count += 1) await publish(gateway, 'victim');

  await eventually(async () =>
    expect(await listStored(gateway.database, 'victim')).toEqual(Array(11).fill('push delivered')),
  );
});

const limits = { concurrency: 50, concurrencyPerProvider: 20, concurrencyPerUser: 5, attemptMs: 8000 };
const delivered: AttemptOutcome = { kind: 'delivered' };
const unavailable = pauseProvider('503', 86_400);
const refused = requireOperator('403');

/** The state of a host, and functions that record outcomes of users; times are in milliseconds from now. */
function createHost() {
  const start = performance.now();
  const host = createProvider();
  const record = (userId: string, outcome: AttemptOutcome, at = 0, target = `${userId}'s`) =>
    host.record({ userId, target }, outcome, start + at);
  const recordAll = (count: number, outcome: AttemptOutcome, at = 0, prefix = 'user') => {
    for (let number = 1; number <= count; number += 1) record(`${prefix}-${number}`, outcome, at);
  };
  const pausedFor = () => (host.pausedUntil === undefined ? undefined : host.pausedUntil - start);
  const choose = createChoice(() => host);
  /** Returns the users whose messages are sent, and those whose messages wait, with the seconds. */
  const chooseAmong = (users: string[], at: number, { isFull = false, running = 0 } = {}) => {
    const message = { channel: 'push', provider: 'host', notificationId: 'n', target: 't' } as const;
    const due = users.map((userId) => ({ userId, ...message }));
    const sending = Array.from({ length: running }, (_none, index) => ({ ...message, userId: `${index}` }));
    const choice = choose({ due, running: sending, limits, isFull, now: start + at });
    return {
      chosen: choice.chosen.map(({ userId }) => userId),
      later: choice.later.map(({ delivery, seconds }) => ({ user: delivery.userId, seconds })),
    };
  };
  return { host, record, recordAll, pausedFor, chooseAmong };
}

describe('a pause of a host', () => {
  test('needs failures of five users, and lasts at most five minutes, even if more fail meanwhile', () => {
    for (const outcome of [unavailable, refused]) {
      const { record, recordAll, pausedFor } = createHost();
      for (let count = 0; count < 20; count += 1) recordAll(4, outcome, count);
      expect(pausedFor()).toBeUndefined();
      record('user-5', outcome);
      expect(pausedFor()).toBeGreaterThan(0);
      for (let round = 1; round < 10; round += 1) {
        const at = round * 310_000;
        recordAll(10, outcome, at, `round-${round}`);
        recordAll(10, outcome, at + 8000, `late-${round}`);
        expect(pausedFor()).toBeGreaterThan(at);
        expect(pausedFor()).toBeLessThan(at + 300_001);
      }
    }
  });

  test('needs failures of half of the users within five minutes', () => {
    const { recordAll, pausedFor } = createHost();
    recordAll(6, delivered, 0, 'other');
    recordAll(5, unavailable, 1);
    expect(pausedFor()).toBeUndefined();
    // The others were more than five minutes ago.
    recordAll(5, unavailable, 300_001);
    expect(pausedFor()).toBeGreaterThan(0);
  });

  test('needs these failures within five minutes', () => {
    const { record, recordAll, pausedFor } = createHost();
    recordAll(4, unavailable);
    // A millisecond more, because sums of floating-point times are rounded.
    record('user-5', unavailable, 300_001);
    expect(pausedFor()).toBeUndefined();
  });

  test('does not last longer because of the Retry-After of one user', () => {
    const { record, recordAll, pausedFor } = createHost();
    recordAll(4, pauseProvider('503'));
    record('mallory', unavailable);
    expect(pausedFor()).toBeLessThanOrEqual(1000);
  });

  test('is not repeated by users who failed before it', () => {
    const { record, recordAll, pausedFor } = createHost();
    recordAll(5, unavailable);
    const end = pausedFor() ?? expect.unreachable();
    recordAll(5, unavailable, end + 1);
    expect(pausedFor()).toBe(end);
    recordAll(5, unavailable, end + 2, 'another');
    expect(pausedFor()).toBeGreaterThan(end);
    record('other', delivered, 2 * end + 10);
    expect(pausedFor()).toBeUndefined();
  });

  test('is followed by one message at a time, first of a user who has not failed', () => {
    const { host, record, recordAll, chooseAmong } = createHost();
    recordAll(5, pauseProvider('503'), -10_000);
    // The end of this message wakes the sender, so the others stay due.
    expect(chooseAmong(['user-1', 'other', 'another'], 0)).toEqual({ chosen: ['other'], later: [] });
    expect(chooseAmong(['other'], 0, { running: 1 }).chosen).toEqual([]);
    // Another user's message may be due, too, behind those that the claim has found.
    expect(chooseAmong(['user-1'], 0, { isFull: true }).chosen).toEqual([]);
    expect(chooseAmong(['user-1'], 0).chosen).toEqual(['user-1']);
    record('other', delivered);
    expect(host.pausedUntil).toBeUndefined();
    expect(chooseAmong(['user-1', 'other'], 0, { running: 18 }).chosen).toEqual(['user-1', 'other']);
    // Another pause needs five failing users again.
    recordAll(4, unavailable);
    expect(host.pausedUntil).toBeUndefined();
  });

  test('postpones the messages to it until its end, one after another', () => {
    const { recordAll, pausedFor, chooseAmong } = createHost();
    recordAll(5, unavailable);
    const end = (pausedFor() ?? expect.unreachable()) / 1000;
    const { chosen, later } = chooseAmong(Array(1000).fill('other'), 0);
    expect(chosen).toEqual([]);
    expect(later[0]?.seconds).toBeCloseTo(end, 2);
    expect(later[999]?.seconds).toBeCloseTo(end + 1, 2);
    // What is found again does not come back earlier.
    expect(chooseAmong(['another'], 1).later[0]?.seconds).toBeCloseTo(end + 1, 2);
  });
});

test('of the messages that wait for running ones, the oldest 100 stay due, so that none idles', () => {
  const { chosen, later } = createHost().chooseAmong(Array(1000).fill('many'), 0);
  expect(chosen).toHaveLength(limits.concurrencyPerUser);
  expect(later).toHaveLength(1000 - limits.concurrencyPerUser - 100);
  expect(later[0]?.seconds).toBeCloseTo(0.25, 2);
  expect(later.at(-1)?.seconds).toBeCloseTo(0.25 + later.length / 1000, 2);
});

describe('a subscription that is refused repeatedly', () => {
  const MINUTES = 60_000;

  test('is suspended while its host accepts other users', () => {
    const { host, record } = createHost();
    const outcomes = [0, 1, 2, 4, 8, 16].map((minute) => {
      record('alice', delivered, minute * MINUTES);
      return record('mallory', refused, minute * MINUTES + 1);
    });
    expect(outcomes).toEqual([...Array(5).fill(refused), rejectTarget('403')]);
    expect(host.pausedUntil).toBeUndefined();
    // The user's other subscriptions are not.
    expect(record('mallory', refused, 17 * MINUTES, 'another')).toEqual(refused);
  });

  test.each<[what: string, between: [user: string, outcome: AttemptOutcome][]]>([
    ['its host accepts nobody else', []],
    ["its host accepts only the user's other messages", [['mallory', delivered]]],
    ['its host fails for others', [['alice', unavailable]]],
  ])('is not suspended if %s', (_what, between) => {
    const { record } = createHost();
    record('alice', delivered);
    for (let minute = 1; minute < 60; minute += 1) {
      for (const [user, outcome] of between) record(user, outcome, minute * MINUTES);
      expect(record('mallory', refused, minute * MINUTES)).toEqual(refused);
    }
  });

  test('is not suspended within ten minutes, or if it was accepted in between', () => {
    const { record } = createHost();
    for (let second = 1; second < 600; second += 1) {
      record('alice', delivered, second * 1000);
      expect(record('mallory', refused, second * 1000 + 1)).toEqual(refused);
    }
    record('mallory', delivered, 11 * MINUTES);
    record('alice', delivered, 11 * MINUTES);
    expect(record('mallory', refused, 12 * MINUTES)).toEqual(refused);
  });
});

test('the reports of a host have a limited size', () => {
  const { host, recordAll } = createHost();
  recordAll(2000, refused);
  expect([host.isSuspect('user-1000'), host.isSuspect('user-1001')]).toEqual([false, true]);
});
