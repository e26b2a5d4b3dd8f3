import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { refused } from '../support/as.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { scrape } from '../support/metrics.ts';
import { deleteUser, publish, resolve } from '../support/records.ts';
import { answer, answers, awaitRequest, makeExpired } from '../support/requests.ts';
import { platform, signToken } from '../support/tokens.ts';

/** A wait that no test lets end by time. */
const LONG = 55;

/** Without sweeps in the time of a test, unless a test is about them. */
const settings = { LIVE_SWEEP_MS: '600000' };

const gateway = useGateway(settings);
let other: TestGateway;
beforeAll(async () => {
  other = await startTestGateway(settings, gateway.database);
});
afterAll(() => other.close());

const countWaiting = async (at: TestGateway) => (await scrape(at)).sum('gateway_live_subscribers');

/** Starts a wait, and resolves when the gateway waits. */
async function startWait(userId: string, id: string, at = gateway) {
  const before = (await countWaiting(at)) ?? 0;
  const reply = at.as(platform).request({ userId, notificationId: id, waitSeconds: LONG });
  await eventually(async () => expect(await countWaiting(at)).toBe(before + 1));
  return { reply };
}

describe('request', () => {
  test('returns the current state at once, also without a wait', async () => {
    const { id } = await publish(gateway, 'now');
    expect(await awaitRequest(gateway, 'now', id)).toMatchObject({
      notificationId: id,
      userId: 'now',
      state: 'OPEN',
      answer: null,
    });
    expect(await awaitRequest(gateway, 'now', id, 0)).toMatchObject({ state: 'OPEN' });

    await answer(other, 'now', { id, ...answers.reject });

    for (const seconds of [undefined, 0, LONG]) {
      expect(await awaitRequest(gateway, 'now', id, seconds)).toMatchObject({
        state: 'ANSWERED',
        answer: { by: 'now', via: 'GRAPHQL', plan: { decision: 'REJECT', feedback: 'Too large' } },
      });
    }
  });

  test.each<[string, (userId: string, id: string, taskId: string) => Promise<unknown>, object]>([
    ['answer', (userId, id) => answer(other, userId, { id, ...answers.approve }), { state: 'ANSWERED' }],
    ['resolution', (userId, _id, task) => resolve(other, userId, task), { state: 'WITHDRAWN' }],
    [
      'successor',
      (userId, _id, task) => publish(other, userId, 'plan_requested', { task: { id: task, projectId: 'p' } }),
      { state: 'WITHDRAWN' },
    ],
    ['expiry', (userId, id) => makeExpired(gateway.database, userId, id), { state: 'EXPIRED', answer: null }],
  ])('returns when another gateway stores an %s', async (what, settle, expected) => {
    const userId = `woken-${what}`;
    const input = { task: { id: 'task', projectId: 'p' }, expiresInSeconds: 1000 };
    const { id } = await publish(gateway, userId, 'plan_requested', input);
    const { reply } = await startWait(userId, id);

    await settle(userId, id, 'task');

    expect(await reply).toMatchObject(expected);
  });

  test('keeps waiting while other notifications change, and while it is dismissed', async () => {
    const { id } = await publish(gateway, 'patient');
    const { reply } = await startWait('patient', id);
    let isSettled = false;
    void reply.then(() => {
      isSettled = true;
    });

    await dismiss(other, 'patient', [id]);
    await answer(other, 'patient', { id: (await publish(other, 'patient')).id, ...answers.approve });
    expect(isSettled).toBe(false);

    await answer(other, 'patient', { id, ...answers.reject });
    expect(await reply).toMatchObject({
      state: 'ANSWERED',
      answer: { plan: { decision: 'REJECT' } },
    });
  });

  test('returns OPEN after the time', async () => {
    const { id } = await publish(gateway, 'timed');
    const start = performance.now();

    expect(await awaitRequest(gateway, 'timed', id, 1)).toMatchObject({ state: 'OPEN' });

    expect(performance.now() - start).toBeGreaterThan(990);
    expect(await countWaiting(gateway)).toBe(0);
  });

  test.each<[string, object, object]>([
    ['expired', {}, { state: 'EXPIRED', answer: null }],
    [
      'answered by default',
      { onExpiry: answers.reject },
      { state: 'ANSWERED', answer: { via: 'DEFAULT', by: null } },
    ],
  ])('returns a request that is %s during the wait', async (what, input, expected) => {
    const userId = `own-${what}`;
    const { id } = await publish(gateway, userId, 'plan_requested', { ...input, expiresInSeconds: 1 });

    const request = await awaitRequest(gateway, userId, id, LONG);

    expect(request).toMatchObject(expected);
    if (request.answer) expect(request.answer.answeredAt).toBe(request.expiresAt);
  });

  test('stores an expiry that is due', async () => {
    const { id } = await publish(gateway, 'due', 'plan_requested', { expiresInSeconds: 3600 });
    await makeExpired(gateway.database, 'due', id);

    expect(await awaitRequest(gateway, 'due', id, 0)).toMatchObject({ state: 'EXPIRED' });

    const stored = await gateway.database.sql('select request_state from notification where user_id = $1', [
      'due',
    ]);
    expect(stored).toEqual([{ request_state: 'expired' }]);
  });

  test('is NOT_FOUND for an unknown notification, one without a request, and one that is deleted', async () => {
    const { id } = await publish(gateway, 'lost');
    const failed = await publish(gateway, 'lost', 'task_failed');
    for (const given of ['unknown', failed.id])
      await expect(awaitRequest(gateway, 'lost', given, LONG)).rejects.toMatchObject(refused('NOT_FOUND'));
    const { reply } = await startWait('lost', id);
    const refusal = expect(reply).rejects.toMatchObject(refused('NOT_FOUND'));

    await deleteUser(other, 'lost');

    await refusal;
  });
});

describe('a wait', () => {
  test('ends at shutdown, with the current state', async () => {
    const stopping = await startTestGateway(settings, gateway.database);
    const { id } = await publish(gateway, 'shutdown');
    const { reply } = await startWait('shutdown', id, stopping);

    await stopping.close();

    expect((await reply).state).toBe('OPEN');
  });

  test('ends with UNAUTHENTICATED when the token expires', async () => {
    const { id } = await publish(gateway, 'expiring');
    const exp = Math.ceil(Date.now() / 1000) + 2;
    const service = gateway.as(() => signToken({ sub: 'service', scope: 'platform:notifications', exp }));

    await expect(
      service.request({ userId: 'expiring', notificationId: id, waitSeconds: LONG }),
    ).rejects.toMatchObject(refused('UNAUTHENTICATED'));

    expect(Date.now()).toBeGreaterThanOrEqual(exp * 1000);
  });

  test('ends when the caller disconnects', async () => {
    const { id } = await publish(gateway, 'leaving');
    const leaving = new AbortController();
    const query = `{ request(userId: "leaving", notificationId: "${id}", waitSeconds: ${LONG}) { state } }`;
    const reply = fetch(`${gateway.address}/graphql`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${await platform()}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ query }),
      signal: leaving.signal,
    }).catch(() => 'aborted');
    await eventually(async () => expect(await countWaiting(gateway)).toBe(1));

    leaving.abort();

    expect(await reply).toBe('aborted');
    await eventually(async () => expect(await countWaiting(gateway)).toBe(0));
  });

  test.each([
    ['another field', '{ request(userId: "u", notificationId: "n", waitSeconds: 1) { state } __typename }'],
    [
      'another field in a fragment',
      `query { ...Both } fragment Both on Query {
        request(userId: "u", notificationId: "n", waitSeconds: 1) { state } platform { __typename } }`,
    ],
  ])('is rejected beside %s', async (_what, query) => {
    const { errors } = await gateway.as(platform).graphql(query);

    expect(errors[0].extensions).toEqual({
      code: 'VALIDATION_FAILED',
      errors: [
        {
          location: 'waitSeconds',
          message: 'requires that the operation selects no other root field',
          value: 1,
        },
      ],
    });
  });

  test.each([-1, 56])('of %s seconds is refused', async (seconds) => {
    await expect(awaitRequest(gateway, 'u', 'n', seconds)).rejects.toMatchObject(
      refused('VALIDATION_FAILED', 'waitSeconds'),
    );
  });

  test('several reads of one operation need no wait', async () => {
    const { id } = await publish(gateway, 'several');
    const read = `request(userId: "several", notificationId: "${id}") { state }`;

    const { data } = await gateway.as(platform).graphql(`{ a: ${read} b: ${read} }`);

    expect(data).toEqual({ a: { state: 'OPEN' }, b: { state: 'OPEN' } });
  });

  test('holds no connection and no turn: one token can have many, and other requests are served', async () => {
    const busy = await startTestGateway({ ...settings, DATABASE_POOL_SIZE: '2' }, gateway.database);
    const count = 60;
    const ids = await Promise.all(
      Array.from({ length: count }, async () => (await publish(gateway, 'many')).id),
    );
    const replies = ids.map((id) => awaitRequest(busy, 'many', id, LONG));
    await eventually(async () => expect(await countWaiting(busy)).toBe(count));

    const used = async () =>
      (await scrape(busy)).sum('db_client_connection_count', { db_client_connection_state: 'used' });
    await eventually(async () => expect(await used()).toBe(0));
    expect((await awaitRequest(busy, 'many', ids[0] ?? '')).state).toBe('OPEN');
    await publish(busy, 'many', 'task_failed');

    for (const id of ids) await answer(busy, 'many', { id, answerId: id, ...answers.approve });
    for (const [index, request] of (await Promise.all(replies)).entries())
      expect(request).toMatchObject({ state: 'ANSWERED', answer: { answerId: ids[index] } });
    expect(await countWaiting(busy)).toBe(0);
    await busy.close();
  });
});
