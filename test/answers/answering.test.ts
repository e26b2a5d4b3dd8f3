import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { startChatApi } from '../support/chat-api.ts';
import { waitingSessions } from '../support/database.ts';
import { listStored, putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { deleteUser, type Kind, publish, resolve } from '../support/records.ts';
import {
  answer as answerAt,
  answers,
  currentRevision,
  listEvents,
  makeExpired,
} from '../support/requests.ts';
import { signToken } from '../support/tokens.ts';

/* That the first settlement wins, in any order of changes, is a property in lifecycle.test.ts and property.long.test.ts. */

const gateway = useGateway();
const { as } = gateway;

const answer = (userId: string, input: object) => answerAt(gateway, userId, input);
const read = (userId: string, id: string) => as(userId).notification({ id });
const events = (userId: string) => listEvents(gateway.database, userId);
const revision = (userId: string) => currentRevision(gateway.database, userId);

const { approve, reject } = answers;

const questions = [
  { question: 'Which?', options: [{ label: 'A' }, { label: 'B' }, { label: 'C' }] },
  { question: 'Which ones?', options: [{ label: 'A' }, { label: 'B' }], multiSelect: true },
  { question: 'What else?', options: [] },
];
const complete = [
  { index: 0, options: [1] },
  { index: 1, options: [1, 0], other: 'Another' },
  { index: 2, options: [], other: 'Nothing' },
];
const askQuestions = (userId: string) =>
  publish(gateway, userId, 'question_requested', {
    payload: { questionRequested: { toolId: 'tool', input: { questions } } },
  });

describe('an answer', () => {
  test('settles the request of a plan, resolves the notification, and sends one event', async () => {
    const { id } = await publish(gateway, 'plan');
    const open = { state: 'OPEN', expiresAt: null, answer: null, onExpiry: null, receipt: null };
    expect((await read('plan', id)).request).toEqual(open);
    const before = await revision('plan');
    const stream = await subscribeToNotifications(gateway, 'plan', await currentCursor(gateway, 'plan'));

    const plan = { decision: 'REQUEST_CHANGES', feedback: 'Smaller' };
    const result = await answer('plan', { id, answerId: 'a', plan });

    const stored = { answerId: 'a', by: 'plan', via: 'GRAPHQL', plan, questions: null, reply: null };
    expect(result).toMatchObject({
      __typename: 'AnswerStored',
      answer: stored,
      notification: {
        status: 'RESOLVED',
        resolution: 'ANSWERED',
        resolvedAt: result.answer?.answeredAt,
        request: { state: 'ANSWERED', answer: stored },
      },
    });
    expect(await read('plan', id)).toEqual(result.notification);
    expect(await events('plan')).toEqual([`answered ${id}`]);
    expect(await revision('plan')).toBe(before + 1);
    expect(await nextEvent(stream)).toMatchObject({
      type: 'RESOLVED',
      counts: { total: 0 },
      notification: { id, status: 'RESOLVED' },
    });
    const { id: next } = await publish(gateway, 'plan', 'task_failed');
    expect((await nextEvent(stream)).notification.id).toBe(next);
    stream.close();
  });

  test('to questions is stored in their order, with their texts and the labels of the options', async () => {
    const { id } = await askQuestions('questions');
    const { answer: stored } = await answer('questions', { id, questions: complete.toReversed() });

    expect(stored?.questions).toEqual([
      { index: 0, question: 'Which?', options: [1], labels: ['B'], other: null },
      { index: 1, question: 'Which ones?', options: [1, 0], labels: ['B', 'A'], other: 'Another' },
      { index: 2, question: 'What else?', options: [], labels: [], other: 'Nothing' },
    ]);
    expect((await read('questions', id)).request?.answer).toEqual(stored);
  });

  test('to a response of a task that awaits input is a reply', async () => {
    const { id } = await publish(gateway, 'reply', 'task_response_ready');
    expect(await answer('reply', { id, reply: { text: ' Go on\n' } })).toMatchObject({
      answer: { reply: { text: ' Go on\n' }, plan: null, questions: null },
      notification: { resolution: 'ANSWERED' },
    });
  });

  test.each<[Kind, object]>([
    ['task_failed', {}],
    ['task_response_ready', { payload: { taskResponseReady: { taskStatus: 'ERRORED' } } }],
  ])('is refused for %s without a request', async (kind, input) => {
    const { id } = await publish(gateway, 'none', kind, input);
    expect((await read('none', id)).request).toBeNull();
    await expect(answer('none', { id, reply: { text: 'Go on' } })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input.id', 'is the ID of a notification that asks for no answer']),
    );
  });

  test('needs a token that may write', async () => {
    const { id } = await publish(gateway, 'scoped');
    const reader = as(() => signToken({ sub: 'scoped', scope: 'account:read' }));
    await expect(reader.answer({ id, answerId: 'a', ...approve })).rejects.toMatchObject(
      refused('FORBIDDEN'),
    );
    expect((await read('scoped', id)).request?.state).toBe('OPEN');
  });

  test('writes an audit line without its text, and none for a retry or a later answer', async () => {
    const { id } = await publish(gateway, 'audited');
    const plan = { decision: 'REJECT', feedback: 'unspeakable' };
    for (const answerId of ['a', 'a', 'b']) await answer('audited', { id, answerId, plan });

    const lines = gateway.logLines().filter((line) => line.includes('"audit":"notification.answered"'));
    const own = lines.map((line) => JSON.parse(line)).filter(({ user }) => user === 'audited');
    expect(own).toEqual([expect.objectContaining({ by: 'audited', notification: id })]);
    expect(gateway.logLines().join()).not.toContain('unspeakable');
  });
});

describe('the first answer wins', () => {
  test('a retry returns the stored answer, whenever and in any order of questions and options', async () => {
    const { id } = await askQuestions('retry');
    const first = await answer('retry', { id, answerId: 'a', questions: complete });
    await dismiss(gateway, 'retry', [id]);
    const before = await revision('retry');

    const reordered = [complete[2], { index: 1, options: [0, 1], other: 'Another' }, complete[0]];
    expect(await answer('retry', { id, answerId: 'a', questions: reordered })).toMatchObject({
      __typename: 'AnswerStored',
      answer: first.answer,
      notification: { status: 'DISMISSED' },
    });
    expect(await revision('retry')).toBe(before);
    expect(await events('retry')).toEqual([`answered ${id}`, `dismissed ${id}`]);
  });

  test.each([
    ['another decision', { plan: { decision: 'REJECT' } }],
    ['added feedback', { plan: { decision: 'APPROVE', feedback: 'Now' } }],
    ['an answer to another kind of request', { reply: { text: 'Yes' } }],
    ['questions that were not asked', { questions: [{ index: 7, options: [] }] }],
  ])('the same answer ID with %s is CONFLICT', async (_what, other) => {
    const { id } = await publish(gateway, 'reused');
    await answer('reused', { id, answerId: 'a', ...approve });

    await expect(answer('reused', { id, answerId: 'a', ...other })).rejects.toMatchObject(
      conflict('ANSWER_ID_REUSED', 'input.answerId'),
    );
    expect((await read('reused', id)).request?.answer?.plan).toEqual({ decision: 'APPROVE', feedback: null });
  });

  test('another answer ID returns AlreadySettled with the winner, even with an equal decision', async () => {
    const { id } = await publish(gateway, 'settled');
    const { answer: winner } = await answer('settled', { id, answerId: 'first', ...approve });

    for (const other of [approve, reject])
      expect(await answer('settled', { id, ...other })).toMatchObject({
        __typename: 'AlreadySettled',
        state: 'ANSWERED',
        answer: winner,
        notification: { id, status: 'RESOLVED', request: { state: 'ANSWERED' } },
      });
    expect(await events('settled')).toEqual([`answered ${id}`]);
  });

  test('a retry over the other API returns the stored answer too, and an ID can answer several', async () => {
    const [first, second] = [await publish(gateway, 'both'), await publish(gateway, 'both')];
    const post = (id: string) =>
      as('both').rest.post(`/user/notifications/${id}/answer`, {
        answer_id: 'a',
        plan: { decision: 'approve' },
      });

    await answer('both', { id: first.id, answerId: 'a', ...approve });
    expect(await post(first.id)).toMatchObject({ status: 200, body: { answer: { via: 'graphql' } } });

    await post(second.id);
    expect(await answer('both', { id: second.id, answerId: 'a', ...approve })).toMatchObject({
      __typename: 'AnswerStored',
      answer: { via: 'REST' },
    });
  });

  test('of 24 answers at once over two gateways, one is stored, and every caller receives it within two seconds', async () => {
    const other = await startTestGateway({}, gateway.database);
    onTestFinished(() => other.close());
    const { id } = await publish(gateway, 'concurrent');
    // Opens the connections.
    for (const at of [gateway, other])
      await answerAt(at, 'warm', { id: (await publish(at, 'warm')).id, ...approve });
    const started = performance.now();

    const results = await Promise.all(
      Array.from({ length: 24 }, (_none, n) =>
        answerAt(n % 2 === 0 ? gateway : other, 'concurrent', { id, answerId: `a-${n}`, ...approve }),
      ),
    );

    expect(performance.now() - started).toBeLessThan(2000);
    const stored = results.filter(({ __typename }) => __typename === 'AnswerStored');
    expect(stored).toHaveLength(1);
    for (const result of results) expect(result.answer).toEqual(stored[0]?.answer);
    expect(await events('concurrent')).toEqual([`answered ${id}`]);
  });

  test('an answer that was decided before the request expired is stored, even if it then waited for a lock', async () => {
    const { id } = await publish(gateway, 'slow', 'plan_requested', { expiresInSeconds: 1000 });
    const locker = new pg.Client({ connectionString: gateway.database.url });
    await locker.connect();
    await locker.query(
      `update notification set expires_at = clock_timestamp() + interval '400 ms' where user_id = 'slow'`,
    );
    await locker.query('begin');
    await locker.query(`select from user_revision where user_id = 'slow' for update`);
    const sent = answer('slow', { id, ...approve });
    await eventually(async () => expect(await waitingSessions(gateway.database)).toBe(1));
    await locker.query(`select pg_sleep_for(expires_at - clock_timestamp() + interval '10 ms') from notification
      where user_id = 'slow'`);
    await locker.query('commit');
    await locker.end();

    expect(await sent).toMatchObject({ __typename: 'AnswerStored' });
    const { request } = await read('slow', id);
    expect(request).toMatchObject({ state: 'ANSWERED', answer: { plan: { decision: 'APPROVE' } } });
    expect(String(request?.answer?.answeredAt) < String(request?.expiresAt)).toBe(true);
    expect(await events('slow')).toEqual([`answered ${id}`]);
  });

  test('deleting the user deletes the request, and a retry of the answer is NOT_FOUND', async () => {
    const { id } = await publish(gateway, 'deleted');
    await answer('deleted', { id, answerId: 'a', ...approve });
    await deleteUser(gateway, 'deleted');
    await expect(answer('deleted', { id, answerId: 'a', ...approve })).rejects.toMatchObject(
      refused('NOT_FOUND'),
    );
  });
});

describe('the order of checks', () => {
  const invalid = { plan: { decision: 'APPROVE', feedback: 'x'.repeat(10_001) } };

  test.each([
    ['none of', {}],
    ['several of', { ...approve, reply: { text: 'Yes' } }],
    ['all of', { ...approve, reply: { text: 'Yes' }, questions: [] }],
  ])('%s plan, questions and reply: 422 even for an unknown notification', async (_what, given) => {
    await expect(answer('order', { id: 'unknown', ...given })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input', 'must have exactly one of plan, questions and reply']),
    );
  });

  test('then the record, the answer ID, the state, and at last what depends on the request', async () => {
    const { id: ofAnother } = await publish(gateway, 'another');
    for (const id of ['unknown', ofAnother])
      await expect(answer('order', { id, ...invalid })).rejects.toMatchObject(refused('NOT_FOUND'));

    const { id } = await publish(gateway, 'order');
    const send = (answerId: string, content: object) => answer('order', { id, answerId, ...content });
    const before = await revision('order');
    await expect(send('a', invalid)).rejects.toMatchObject(
      refused('VALIDATION_FAILED', 'input.plan.feedback'),
    );
    expect([await revision('order'), await events('order')]).toEqual([before, []]);

    expect(await send('a', approve)).toMatchObject({ __typename: 'AnswerStored' });
    await expect(send('a', invalid)).rejects.toMatchObject(conflict('ANSWER_ID_REUSED', 'input.answerId'));
    expect(await send('b', invalid)).toMatchObject({ __typename: 'AlreadySettled' });
  });

  test('an expired request takes no answer, not even an invalid one', async () => {
    const { id } = await publish(gateway, 'expired', 'plan_requested', { expiresInSeconds: 1000 });
    await makeExpired(gateway.database, 'expired', id);
    expect(await answer('expired', { id, ...invalid })).toMatchObject({
      __typename: 'AlreadySettled',
      state: 'EXPIRED',
      answer: null,
      notification: { status: 'RESOLVED', resolution: 'EXPIRED', request: { state: 'EXPIRED' } },
    });
  });
});

describe('a dismissed request', () => {
  test('stays open, is listed and counted, and can be answered, which other devices learn', async () => {
    const { id } = await publish(gateway, 'hidden');
    await publish(gateway, 'hidden', 'task_failed');
    await dismiss(gateway, 'hidden', [id]);
    const readOpen = async () => {
      const { nodes, totalCount } = await as('hidden').notifications({ filter: { requestStates: ['OPEN'] } });
      const { total, openRequests } = await as('hidden').counts();
      return { open: nodes.map((node) => [node.id, node.status]), counts: [totalCount, openRequests, total] };
    };
    expect(await readOpen()).toEqual({ open: [[id, 'DISMISSED']], counts: [1, 1, 1] });
    const stream = await subscribeToNotifications(gateway, 'hidden', await currentCursor(gateway, 'hidden'));

    const { notification } = await answer('hidden', { id, ...approve });

    expect(notification).toMatchObject({
      status: 'DISMISSED',
      resolution: 'ANSWERED',
      resolvedAt: notification.request?.answer?.answeredAt,
      request: { state: 'ANSWERED' },
    });
    expect(await readOpen()).toEqual({ open: [], counts: [0, 0, 1] });
    expect(await events('hidden')).toEqual([`dismissed ${id}`, `answered ${id}`]);
    expect(await nextEvent(stream)).toMatchObject({ notification: { id, status: 'DISMISSED' } });
    stream.close();
  });

  test.each<[string, (task: string) => Promise<unknown>]>([
    ['TASK_DELETED', (task) => resolve(gateway, 'gone', task, 'TASK_DELETED')],
    [
      'SUPERSEDED',
      (task) => publish(gateway, 'gone', 'plan_requested', { task: { id: task, projectId: 'p' } }),
    ],
  ])('is withdrawn as %s, stays dismissed, and is restored as resolved', async (resolution, settle) => {
    const task = { id: randomUUID(), projectId: 'p' };
    const { id } = await publish(gateway, 'gone', 'plan_requested', { task });
    await dismiss(gateway, 'gone', [id]);

    await settle(task.id);

    expect(await read('gone', id)).toMatchObject({
      status: 'DISMISSED',
      resolution,
      request: { state: 'WITHDRAWN' },
    });
    expect((await events('gone')).slice(-2)).toEqual([`dismissed ${id}`, `withdrawn ${id}`]);
    expect(await as('gone').restore({ id })).toMatchObject({ status: 'RESOLVED', resolution });
  });
});

describe('restoring', () => {
  test('makes a dismissed notification active again, with its request, and an active one stays as it is', async () => {
    const user = 'restored';
    const { id } = await publish(gateway, user);
    await dismiss(gateway, user, [id]);
    const before = await revision(user);
    const stream = await subscribeToNotifications(gateway, user, await currentCursor(gateway, user));

    for (const _ of ['dismissed', 'active'])
      expect(await as(user).restore({ id })).toMatchObject({
        status: 'ACTIVE',
        resolution: null,
        resolvedAt: null,
        dismissedAt: null,
        request: { state: 'OPEN' },
      });
    expect(await nextEvent(stream)).toMatchObject({
      counts: { total: 1 },
      notification: { status: 'ACTIVE' },
    });
    stream.close();
    expect(await revision(user)).toBe(before + 1);
    expect(await events(user)).toEqual([`dismissed ${id}`, `restored ${id}`]);
    expect(await answer(user, { id, ...approve })).toMatchObject({ notification: { status: 'RESOLVED' } });
  });

  test.each([
    ['', false],
    [', which is dismissed too', true],
  ])('makes it resolved if a later one has taken its place%s', async (_how, isDismissed) => {
    // At the same time: the one that was published later is later.
    const input = { task: { id: randomUUID(), projectId: 'p' }, occurredAt: '2026-01-01T00:00:00.000Z' };
    const { id } = await publish(gateway, 'taken', 'task_failed', input);
    await dismiss(gateway, 'taken', [id]);
    const later = await publish(gateway, 'taken', 'task_failed', input);
    if (isDismissed) await dismiss(gateway, 'taken', [later.id]);

    expect(await as('taken').restore({ id })).toMatchObject({
      status: 'RESOLVED',
      resolution: 'SUPERSEDED',
      resolvedAt: later.createdAt,
    });
    if (isDismissed) expect(await as('taken').restore({ id: later.id })).toMatchObject({ status: 'ACTIVE' });
  });

  test('is NOT_FOUND for an unknown notification and for that of another user', async () => {
    const { id: ofAnother } = await publish(gateway, 'owner');
    for (const id of ['unknown', ofAnother])
      await expect(as('stranger').restore({ id })).rejects.toMatchObject(refused('NOT_FOUND'));
  });
});

describe('deliveries', () => {
  let chat: Awaited<ReturnType<typeof startChatApi>>;
  let queuing: TestGateway;
  let sending: TestGateway;
  beforeAll(async () => {
    chat = await startChatApi();
    const settings = { CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url };
    queuing = await startTestGateway({ ...settings, DELIVERY: 'false' });
    sending = await startTestGateway(settings);
  });
  afterAll(async () => {
    await sending.close();
    await queuing.close();
    await chat.close();
  });

  const settlements: [string, (at: TestGateway, id: string) => Promise<unknown>][] = [
    ['an answer', (at, id) => answerAt(at, 'alice', { id, ...approve })],
    ['its expiry', (at, id) => makeExpired(at.database, 'alice', id)],
  ];
  const ask = async (at: TestGateway) => {
    await putContact(at, 'alice', { chatMemberId: 'U-alice' });
    return publish(at, 'alice', 'plan_requested', { expiresInSeconds: 1000 });
  };

  test.each(settlements)('that are pending are cancelled after %s', async (_how, settle) => {
    const { id } = await ask(queuing);
    const state = () => listStored(queuing.database, 'alice', id);
    expect(await state()).toEqual(['chat pending']);

    await settle(queuing, id);

    await eventually(async () => expect(await state()).toEqual(['chat cancelled settled']));
  });

  test.each(settlements)('whose chat message was posted update it after %s', async (_how, settle) => {
    const { id } = await ask(sending);
    await eventually(async () =>
      expect(await listStored(sending.database, 'alice', id)).toEqual(['chat delivered']),
    );
    const message = chat.messages.at(-1);
    expect(message?.updates).toEqual([]);

    await settle(sending, id);

    await eventually(() => expect(message?.updates).toHaveLength(1));
  });
});
