import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startChatApi } from '../support/chat-api.ts';
import { graphql, rest } from '../support/client.ts';
import { waitingSessions } from '../support/database.ts';
import { listStored, putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import {
  currentCursor,
  dismiss,
  nextEvent,
  readRevision,
  subscribeToNotifications,
} from '../support/inbox.ts';
import { asMember, deleteUser, type Kind, publish, resolve } from '../support/records.ts';
import {
  answer as answerAt,
  answers,
  currentRevision,
  listEvents,
  makeExpired,
  readNotification,
  refuseAnswer,
  restore as restoreAt,
} from '../support/requests.ts';
import { member, signToken } from '../support/tokens.ts';

const gateway = useGateway();

const answer = (userId: string, input: Record<string, unknown>) => answerAt(gateway, userId, input);
const refuse = (userId: string, input: Record<string, unknown>) => refuseAnswer(gateway, userId, input);
const read = (userId: string, id: string) => readNotification(gateway, userId, id);
const restore = (userId: string, id: string) => restoreAt(gateway, userId, id);
const events = (userId: string) => listEvents(gateway.database, userId);

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
const askQuestions = (userId: string, input: Record<string, unknown> = {}) =>
  publish(gateway, userId, 'question_requested', {
    payload: { questionRequested: { toolId: 'tool', input: { questions } } },
    ...input,
  });

describe('an answer', () => {
  test('settles the request of a plan and resolves the notification', async () => {
    const { id } = await publish(gateway, 'plan');
    expect((await read('plan', id)).request).toEqual({
      state: 'OPEN',
      expiresAt: null,
      answer: null,
      onExpiry: null,
      receipt: null,
    });

    const plan = { decision: 'REQUEST_CHANGES', feedback: 'Smaller' };
    const result = await answer('plan', { id, answerId: 'a', plan });

    const stored = { answerId: 'a', by: 'plan', via: 'GRAPHQL', plan, questions: null, reply: null };
    expect(result).toMatchObject({
      __typename: 'AnswerStored',
      answer: stored,
      notification: { status: 'RESOLVED', resolution: 'ANSWERED' },
    });
    expect(result.answer.answeredAt).toBe(result.notification.resolvedAt);
    expect((await read('plan', id)).request).toMatchObject({ state: 'ANSWERED', answer: stored });
    expect(await events('plan')).toEqual([`answered ${id}`]);
  });

  test('to questions is stored in their order, with their texts and the labels of the options', async () => {
    const { id } = await askQuestions('questions');

    const result = await answer('questions', { id, questions: complete.toReversed() });

    expect(result.answer.questions).toEqual([
      { index: 0, question: 'Which?', options: [1], labels: ['B'], other: null },
      { index: 1, question: 'Which ones?', options: [1, 0], labels: ['B', 'A'], other: 'Another' },
      { index: 2, question: 'What else?', options: [], labels: [], other: 'Nothing' },
    ]);
    expect((await read('questions', id)).request.answer).toEqual(result.answer);
  });

  test('to a response of a task that awaits input is a reply', async () => {
    const { id } = await publish(gateway, 'reply', 'task_response_ready');

    const result = await answer('reply', { id, reply: { text: ' Go on\n' } });

    expect(result.answer).toMatchObject({ reply: { text: ' Go on\n' }, plan: null, questions: null });
    expect(result.notification.resolution).toBe('ANSWERED');
  });

  test.each<[Kind, Record<string, unknown>]>([
    ['task_failed', {}],
    ['task_response_ready', { payload: { taskResponseReady: { taskStatus: 'ERRORED' } } }],
  ])('is rejected for %s without a request', async (kind, input) => {
    const { id } = await publish(gateway, 'none', kind, input);

    expect((await read('none', id)).request).toBeNull();
    const { code, errors } = await refuse('none', { id, reply: { text: 'Go on' } });
    expect({ code, errors }).toEqual({
      code: 'VALIDATION_FAILED',
      errors: [
        {
          location: 'input.id',
          message: 'is the ID of a notification that asks for no answer',
          value: id,
        },
      ],
    });
  });

  test('needs a token that may write', async () => {
    const { id } = await publish(gateway, 'scoped');
    const token = await signToken({ sub: 'scoped', scope: 'account:read' });
    const query =
      'mutation ($id: ID!) { answerNotification(input: { id: $id, answerId: "a", plan: { decision: APPROVE } }) { __typename } }';

    const { errors } = await graphql(gateway, query, { id }, { token });

    expect(errors[0].extensions.code).toBe('FORBIDDEN');
    expect((await read('scoped', id)).request.state).toBe('OPEN');
  });

  test('increments the revision once, and every stream gets one event', async () => {
    const { id } = await publish(gateway, 'live');
    const before = await currentRevision(gateway.database, 'live');
    const stream = await subscribeToNotifications(gateway, 'live', await currentCursor(gateway, 'live'));

    await answer('live', { id, ...approve });

    expect(await nextEvent(stream)).toMatchObject({
      type: 'RESOLVED',
      counts: { total: 0 },
      notification: { id, status: 'RESOLVED' },
    });
    const { id: next } = await publish(gateway, 'live', 'task_failed');
    const { cursor, notification } = await nextEvent(stream);
    expect([notification.id, readRevision(cursor)]).toEqual([next, before + 2]);
    expect(stream.results).toHaveLength(2);
    stream.close();
  });

  test('writes an audit line without its text, and none for a retry or a later answer', async () => {
    const { id } = await publish(gateway, 'audited');
    const plan = { decision: 'REJECT', feedback: 'unspeakable' };

    await answer('audited', { id, answerId: 'a', plan });
    await answer('audited', { id, answerId: 'a', plan });
    await answer('audited', { id, answerId: 'b', plan });

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
    const revision = await currentRevision(gateway.database, 'retry');

    const reordered = [complete[2], { index: 1, options: [0, 1], other: 'Another' }, complete[0]];
    const retried = await answer('retry', { id, answerId: 'a', questions: reordered });

    expect(retried).toMatchObject({ __typename: 'AnswerStored', answer: first.answer });
    expect(retried.notification.status).toBe('DISMISSED');
    expect(await currentRevision(gateway.database, 'retry')).toBe(revision);
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

    expect(await refuse('reused', { id, answerId: 'a', ...other })).toEqual({
      code: 'CONFLICT',
      reason: 'ANSWER_ID_REUSED',
      errors: [
        { location: 'input.answerId', message: 'is taken by an answer with other content', value: 'a' },
      ],
    });
    expect((await read('reused', id)).request.answer.plan).toEqual({ decision: 'APPROVE', feedback: null });
  });

  test('another answer ID returns AlreadySettled with the winner, even with an equal decision', async () => {
    const { id } = await publish(gateway, 'settled');
    const { answer: winner } = await answer('settled', { id, answerId: 'first', ...approve });

    for (const other of [approve, reject]) {
      const result = await answer('settled', { id, ...other });

      expect(result).toMatchObject({
        __typename: 'AlreadySettled',
        state: 'ANSWERED',
        answer: winner,
        notification: { id, status: 'RESOLVED', request: { state: 'ANSWERED' } },
      });
    }
    expect(await events('settled')).toEqual([`answered ${id}`]);
  });

  test('a retry over the other API returns the stored answer too', async () => {
    const [first, second] = [await publish(gateway, 'both'), await publish(gateway, 'both')];
    const token = await member('both');
    const post = (id: string) =>
      rest(gateway, 'POST', `/user/notifications/${id}/answer`, {
        token,
        body: { answer_id: 'a', plan: { decision: 'approve' } },
      });

    await answer('both', { id: first.id, answerId: 'a', ...approve });
    const { status, body } = await post(first.id);
    expect([status, body.answer.via]).toEqual([200, 'graphql']);

    await post(second.id);
    expect(await answer('both', { id: second.id, answerId: 'a', ...approve })).toMatchObject({
      __typename: 'AnswerStored',
      answer: { via: 'REST' },
    });
  });

  test('the same answer ID can answer several notifications', async () => {
    const [one, other] = [await publish(gateway, 'shared'), await publish(gateway, 'shared')];

    for (const { id } of [one, other]) {
      expect(await answer('shared', { id, answerId: 'a', ...approve })).toMatchObject({
        __typename: 'AnswerStored',
      });
    }
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
    for (const result of results) expect(result.answer).toEqual(stored[0].answer);
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
    expect(request.answer.answeredAt < request.expiresAt).toBe(true);
    expect(await events('slow')).toEqual([`answered ${id}`]);
  });

  test.each<[string, string, (id: string, task: string) => Promise<unknown>, object]>([
    [
      'resolved',
      'WITHDRAWN',
      (_id, task) => resolve(gateway, 'late', task),
      { status: 'RESOLVED', resolution: 'ANSWERED_ELSEWHERE' },
    ],
    [
      'superseded',
      'WITHDRAWN',
      (_id, task) => publish(gateway, 'late', 'plan_requested', { task: { id: task, projectId: 'p' } }),
      { status: 'RESOLVED', resolution: 'SUPERSEDED' },
    ],
    [
      'expired',
      'EXPIRED',
      (id) => makeExpired(gateway.database, 'late', id),
      { status: 'RESOLVED', resolution: 'EXPIRED' },
    ],
  ])(
    'an answer to a request that was %s returns AlreadySettled and changes nothing',
    async (_how, state, settle, shown) => {
      const task = { id: randomUUID(), projectId: 'p' };
      const { id } = await publish(gateway, 'late', 'plan_requested', { task, expiresInSeconds: 1000 });
      await settle(id, task.id);

      expect(await answer('late', { id, ...approve })).toMatchObject({
        __typename: 'AlreadySettled',
        state,
        answer: null,
        notification: { id, ...shown, request: { state, answer: null } },
      });
    },
  );

  test('deleting the user deletes the request, and a retry of the answer is NOT_FOUND', async () => {
    const { id } = await publish(gateway, 'deleted');
    await answer('deleted', { id, answerId: 'a', ...approve });
    await deleteUser(gateway, 'deleted');

    expect(await refuse('deleted', { id, answerId: 'a', ...approve })).toMatchObject({ code: 'NOT_FOUND' });
  });
});

describe('the order of checks', () => {
  const invalid = { plan: { decision: 'APPROVE', feedback: 'x'.repeat(10_001) } };

  test.each([
    ['none of', {}],
    ['several of', { ...approve, reply: { text: 'Yes' } }],
    ['all of', { ...approve, reply: { text: 'Yes' }, questions: [] }],
  ])('%s plan, questions and reply: 422 even for an unknown notification', async (_what, given) => {
    const input = { id: 'unknown', answerId: 'an-answer', ...given };
    expect(await refuse('order', input)).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [
        { location: 'input', message: 'must have exactly one of plan, questions and reply', value: input },
      ],
    });
  });

  test('then the record, whatever the answer', async () => {
    const { id } = await publish(gateway, 'another');

    expect(await refuse('order', { id, ...invalid })).toEqual({ code: 'NOT_FOUND' });
    expect(await refuse('order', { id: 'unknown', ...approve })).toEqual({ code: 'NOT_FOUND' });
  });

  test('then the answer ID, then the state, and at last what depends on the request', async () => {
    const { id } = await publish(gateway, 'order');
    expect(await refuse('order', { id, answerId: 'a', ...invalid })).toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    expect(await answer('order', { id, answerId: 'a', ...approve })).toMatchObject({
      __typename: 'AnswerStored',
    });

    expect(await refuse('order', { id, answerId: 'a', ...invalid })).toMatchObject({
      code: 'CONFLICT',
      reason: 'ANSWER_ID_REUSED',
    });
    expect(await answer('order', { id, answerId: 'b', ...invalid })).toMatchObject({
      __typename: 'AlreadySettled',
    });
  });

  test('a rejected answer changes nothing, so that its ID can be used again', async () => {
    const { id } = await publish(gateway, 'rejected');
    const revision = await currentRevision(gateway.database, 'rejected');
    await refuse('rejected', { id, answerId: 'a', ...invalid });

    expect(await currentRevision(gateway.database, 'rejected')).toBe(revision);
    expect(await events('rejected')).toEqual([]);
    expect(await answer('rejected', { id, answerId: 'a', ...reject })).toMatchObject({
      __typename: 'AnswerStored',
    });
  });

  test('an expired request takes no answer, not even an invalid one', async () => {
    const { id } = await publish(gateway, 'expired', 'plan_requested', { expiresInSeconds: 1000 });
    await makeExpired(gateway.database, 'expired', id);

    expect(await answer('expired', { id, ...invalid })).toMatchObject({ state: 'EXPIRED' });
  });
});

describe('a dismissed request', () => {
  const OPEN = `{
    notifications(filter: { requestStates: [OPEN] }) { totalCount nodes { ... on UserNotification { id status } } }
    notificationCounts { total openRequests }
  }`;

  test('stays open, is listed and counted, and can be answered', async () => {
    const { id } = await publish(gateway, 'hidden');
    await publish(gateway, 'hidden', 'task_failed');
    await dismiss(gateway, 'hidden', [id]);

    expect(await read('hidden', id)).toMatchObject({ status: 'DISMISSED', request: { state: 'OPEN' } });
    expect(await asMember(gateway, 'hidden', OPEN)).toEqual({
      notifications: { totalCount: 1, nodes: [{ id, status: 'DISMISSED' }] },
      notificationCounts: { total: 1, openRequests: 1 },
    });

    const { notification } = await answer('hidden', { id, ...approve });

    expect(notification).toMatchObject({
      status: 'DISMISSED',
      resolution: 'ANSWERED',
      request: { state: 'ANSWERED' },
    });
    expect(notification.resolvedAt).toBe(notification.request.answer.answeredAt);
    expect(await asMember(gateway, 'hidden', OPEN)).toEqual({
      notifications: { totalCount: 0, nodes: [] },
      notificationCounts: { total: 1, openRequests: 0 },
    });
    expect(await events('hidden')).toEqual([`dismissed ${id}`, `answered ${id}`]);
  });

  test('raises the revision when it is answered, so that other devices learn it', async () => {
    const { id } = await publish(gateway, 'device');
    await dismiss(gateway, 'device', [id]);
    const stream = await subscribeToNotifications(gateway, 'device', await currentCursor(gateway, 'device'));

    await answer('device', { id, ...approve });

    expect(await nextEvent(stream)).toMatchObject({ notification: { id, status: 'DISMISSED' } });
    stream.close();
  });

  test.each<[string, string, (task: string) => Promise<unknown>]>([
    ['ANSWERED_ELSEWHERE', 'resolving', (task) => resolve(gateway, 'gone', task)],
    ['TASK_DELETED', 'resolving', (task) => resolve(gateway, 'gone', task, 'TASK_DELETED')],
    ['RESUMED', 'resolving', (task) => resolve(gateway, 'gone', task, 'RESUMED')],
    [
      'SUPERSEDED',
      'superseding',
      (task) => publish(gateway, 'gone', 'plan_requested', { task: { id: task, projectId: 'p' } }),
    ],
  ])('is withdrawn as %s by %s, and stays dismissed', async (resolution, _how, settle) => {
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
    expect(await restore('gone', id)).toMatchObject({ status: 'RESOLVED', resolution });
  });
});

describe('restoring', () => {
  test('makes a dismissed notification active again, with its request', async () => {
    const { id } = await publish(gateway, 'restored');
    await dismiss(gateway, 'restored', [id]);
    const revision = await currentRevision(gateway.database, 'restored');
    const stream = await subscribeToNotifications(
      gateway,
      'restored',
      await currentCursor(gateway, 'restored'),
    );

    expect(await restore('restored', id)).toMatchObject({
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
    expect(await currentRevision(gateway.database, 'restored')).toBe(revision + 1);
    expect(await events('restored')).toEqual([`dismissed ${id}`, `restored ${id}`]);
    expect(await answer('restored', { id, ...approve })).toMatchObject({
      notification: { status: 'RESOLVED' },
    });
  });

  test('makes it resolved if it was answered before or after the dismissal', async () => {
    for (const isBefore of [true, false]) {
      const { id } = await publish(gateway, 'again');
      if (isBefore) await answer('again', { id, ...approve });
      await dismiss(gateway, 'again', [id]);
      if (!isBefore) await answer('again', { id, ...approve });

      expect(await restore('again', id)).toMatchObject({
        status: 'RESOLVED',
        resolution: 'ANSWERED',
        dismissedAt: null,
        request: { state: 'ANSWERED' },
      });
    }
  });

  test.each([
    ['', false],
    [', which is dismissed too', true],
  ])(
    'makes a notification without a request resolved if a later one has taken its place%s',
    async (_how, isDismissed) => {
      // At the same time: the one that was published later is later.
      const input = { task: { id: randomUUID(), projectId: 'p' }, occurredAt: '2026-01-01T00:00:00.000Z' };
      const { id } = await publish(gateway, 'taken', 'task_failed', input);
      await dismiss(gateway, 'taken', [id]);
      const later = await publish(gateway, 'taken', 'task_failed', input);
      if (isDismissed) await dismiss(gateway, 'taken', [later.id]);

      expect(await restore('taken', id)).toMatchObject({
        status: 'RESOLVED',
        resolution: 'SUPERSEDED',
        resolvedAt: later.createdAt,
      });
      if (isDismissed) expect(await restore('taken', later.id)).toMatchObject({ status: 'ACTIVE' });
    },
  );

  test('changes nothing unless it is dismissed', async () => {
    const { id } = await publish(gateway, 'active');
    const revision = await currentRevision(gateway.database, 'active');

    expect(await restore('active', id)).toMatchObject({ status: 'ACTIVE' });
    expect(await currentRevision(gateway.database, 'active')).toBe(revision);
    expect(await events('active')).toEqual([]);
  });

  test('is NOT_FOUND for an unknown notification and for that of another user', async () => {
    const { id } = await publish(gateway, 'owner');
    const query = 'mutation ($id: ID!) { restoreNotification(input: { id: $id }) { __typename } }';

    for (const given of ['unknown', id]) {
      const { errors } = await graphql(gateway, query, { id: given }, { token: await member('stranger') });
      expect(errors[0].extensions.code).toBe('NOT_FOUND');
    }
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
