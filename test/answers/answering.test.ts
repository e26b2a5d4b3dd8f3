import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { waitingSessions } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish } from '../support/records.ts';
import {
  answer as answerAt,
  answers,
  currentRevision,
  listEvents,
  makeExpired,
} from '../support/requests.ts';

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

  test('is refused for a notification that asks for none', async () => {
    const { id } = await publish(gateway, 'none', 'task_failed');
    expect((await read('none', id)).request).toBeNull();
    await expect(answer('none', { id, reply: { text: 'Go on' } })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input.id', 'is the ID of a notification that asks for no answer']),
    );
  });

  test('writes an audit line without its text, and none for a retry or a later answer', async () => {
    const { id } = await publish(gateway, 'audited');
    const plan = { decision: 'REJECT', feedback: 'unspeakable' };
    for (const answerId of ['a', 'a', 'b']) await answer('audited', { id, answerId, plan });

    const lines = gateway.logLines().filter((line) => line.includes('"audit":"notification.answered"'));
    const own = lines.map((line) => JSON.parse(line)).filter(({ user }) => user === 'audited');
    expect(own).toEqual([expect.objectContaining({ by: 'audited', notification: id, via: 'graphql' })]);
    expect(gateway.logLines().join()).not.toContain('unspeakable');
  });
});

describe('the first answer wins', () => {
  test('a retry returns the stored answer, whenever and in any order of questions and options', async () => {
    const payload = { questionRequested: { toolId: 'tool', input: { questions } } };
    const { id } = await publish(gateway, 'retry', 'question_requested', { payload });
    const first = await answer('retry', { id, answerId: 'a', questions: complete.toReversed() });
    expect(first.answer?.questions).toEqual([
      { index: 0, question: 'Which?', options: [1], labels: ['B'], other: null },
      { index: 1, question: 'Which ones?', options: [1, 0], labels: ['B', 'A'], other: 'Another' },
      { index: 2, question: 'What else?', options: [], labels: [], other: 'Nothing' },
    ]);
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
});

describe('the order of checks', () => {
  const invalid = { plan: { decision: 'APPROVE', feedback: 'x'.repeat(10_001) } };

  test.each([
    ['none of', {}],
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

test('a dismissed request stays open, is listed and counted, and can be answered, which other devices learn', async () => {
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

test('restoring makes a dismissed notification active again, with its request, and an active one stays as it is', async () => {
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
  expect(await nextEvent(stream)).toMatchObject({ counts: { total: 1 }, notification: { status: 'ACTIVE' } });
  stream.close();
  expect(await revision(user)).toBe(before + 1);
  expect(await events(user)).toEqual([`dismissed ${id}`, `restored ${id}`]);
  await expect(as('stranger').restore({ id })).rejects.toMatchObject(refused('NOT_FOUND'));
});

describe('over REST', () => {
  const post = (userId: string, id: string, body: object) =>
    as(userId).rest.post(`/user/notifications/${id}/answer`, { answer_id: 'a', ...body });

  test('the first answer is returned, also to a retry, and in the conflict of others', async () => {
    const { id } = await publish(gateway, 'rest', 'question_requested');
    const questions = [{ index: 0, options: [1] }];
    const first = await post('rest', id, { questions });
    const stored = {
      answer_id: 'a',
      questions: [{ index: 0, options: [1], other: null, question: 'Which?', labels: ['B'] }],
      by: 'rest',
      via: 'rest',
      answered_at: expect.any(String),
    };
    expect(first).toMatchObject({ status: 200, body: { answer: stored } });
    expect(Object.keys(first.body.answer).sort()).toEqual(Object.keys(stored).sort());
    expect((await post('rest', id, { questions })).body).toEqual(first.body);

    const late = await post('rest', id, { answer_id: 'b', questions });
    const { answer } = first.body;
    const value = { state: 'answered', by: 'rest', via: 'rest', at: answer.answered_at, answer };
    expect(late).toMatchObject({
      status: 409,
      body: { code: 'conflict', errors: [{ location: 'body', value }] },
    });
    expect(await post('rest', id, { questions: [{ index: 0, options: [0] }] })).toMatchObject({
      status: 409,
      body: { errors: [{ location: 'body.answer_id', value: 'a' }] },
    });
  });

  test.each([
    ['an answer that does not fit', { reply: { text: 'Yes' } }, 'body.reply'],
    ['no answer', {}, 'body'],
    ['an unknown option', { questions: [{ index: 0, options: [7] }] }, 'body.questions[0].options[0]'],
    ['an unknown decision', { plan: { decision: 'perhaps' } }, 'body.plan.decision'],
  ])('rejects %s at its location', async (_name, answer, location) => {
    const { id } = await publish(gateway, 'rules', 'question_requested');
    expect(await post('rules', id, answer)).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [{ location }] },
    });
  });

  test('an expired request is not a refusal', async () => {
    const { id } = await publish(gateway, 'late', 'plan_requested', { expiresInSeconds: 60 });
    await makeExpired(gateway.database, 'late', id);
    const value = { state: 'expired', by: null, via: null, at: expect.any(String), answer: null };
    expect(await post('late', id, { plan: { decision: 'approve' } })).toMatchObject({
      status: 409,
      body: { errors: [{ location: 'body', value }] },
    });
  });
});
