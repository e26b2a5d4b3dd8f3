import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import type { RequestState } from '../support/generated/types.ts';
import { dismiss } from '../support/inbox.ts';
import { notification, payloads, publish, resolve } from '../support/records.ts';
import {
  acknowledge,
  answer,
  answers,
  currentRevision,
  listEvents,
  makeExpired,
} from '../support/requests.ts';
import { platform, signTaskToken } from '../support/tokens.ts';

/* Which requests a publication withdraws, in any order, is a property in lifecycle.test.ts and property.long.test.ts. */

const gateway = useGateway();
const { as } = gateway;

const read = (userId: string, id: string) => as(userId).notification({ id });
const events = (userId: string) => listEvents(gateway.database, userId);
const revision = (userId: string) => currentRevision(gateway.database, userId);

const task = { id: 'task', projectId: 'project' };
const send = (userId: string, given: object, who = () => platform()) =>
  as(who).publish(notification(userId, 'plan_requested', { task, ...given }));

const question = (toolId: string) => ({
  questionRequested: { ...payloads.question_requested.questionRequested, toolId },
});
const inSeconds = (seconds: number) => new Date(Date.now() + 1000 * seconds).toISOString();

/** Publishes a question in a task and returns its ID. */
const ask = async (userId: string, supersedes: string, toolId: string, given: object = {}): Promise<string> =>
  (await send(userId, { supersedes, payload: question(toolId), ...given })).notification.id;

/** Lists the states of a user's requests. */
const states = async (userId: string, ...ids: string[]) =>
  Promise.all(ids.map(async (id) => (await read(userId, id)).request?.state));

describe('supersedes', () => {
  test('TASK_AND_KIND, the default, withdraws all of the task and kind, dismissed or not', async () => {
    const ids = [
      await ask('all', 'TASK_AND_KIND', 'a'),
      await ask('all', 'TOOL_CALL', 'a'),
      await ask('all', 'NOTHING', 'a'),
    ];
    await dismiss(gateway, 'all', ids.slice(2));
    const plan = await send('all', {});
    const other = await publish(gateway, 'all', 'question_requested');
    expect(await states('all', ...ids)).toEqual(['OPEN', 'OPEN', 'OPEN']);

    const last = await send('all', { payload: question('b') });

    const shown = await Promise.all(ids.map((id) => read('all', id)));
    expect(shown.map(({ status, resolution, request }) => [status, resolution, request?.state])).toEqual([
      ['RESOLVED', 'SUPERSEDED', 'WITHDRAWN'],
      ['RESOLVED', 'SUPERSEDED', 'WITHDRAWN'],
      ['DISMISSED', 'SUPERSEDED', 'WITHDRAWN'],
    ]);
    const open = [plan.notification.id, other.id, last.notification.id];
    expect(await states('all', ...open)).toEqual(['OPEN', 'OPEN', 'OPEN']);
    expect((await events('all')).slice(1)).toEqual(ids.map((id) => `withdrawn ${id}`));
  });

  test.each([
    ['TOOL_CALL', 0x30000, 'WITHDRAWN'],
    ['NOTHING', 0x31000, 'OPEN'],
  ])('%s accepts IDs of the greatest length', async (supersedes, user, state) => {
    // Different characters, because PostgreSQL compresses repeated ones.
    const longest = (first: number) =>
      String.fromCodePoint(...Array.from({ length: 255 }, (_one, index) => first + 7 * index));
    const [userId, taskId] = [longest(user), longest(0x21000)];
    const given = { supersedes, task: { id: taskId, projectId: 'p' }, payload: question(longest(0x22000)) };
    const first = (await send(userId, { ...given, id: longest(0x23000) })).notification.id;
    await send(userId, { ...given, id: longest(0x24000) });

    expect(await states(userId, first)).toEqual([state]);
  });

  test('TOOL_CALL withdraws those of the same tool call only, and NOTHING none', async () => {
    const whole = await ask('tool', 'TASK_AND_KIND', 'a');
    const first = await ask('tool', 'TOOL_CALL', 'a');
    const other = await ask('tool', 'TOOL_CALL', 'b');
    const own = [await ask('tool', 'NOTHING', 'a'), await ask('tool', 'NOTHING', 'a')];
    const payload = { planRequested: { ...payloads.plan_requested.planRequested, toolId: 'a' } };
    const { id: plan } = (await send('tool', { supersedes: 'TOOL_CALL', payload })).notification;

    await ask('tool', 'TOOL_CALL', 'a');

    expect(await states('tool', first, whole, other, ...own, plan)).toEqual([
      'WITHDRAWN',
      ...Array(5).fill('OPEN'),
    ]);
  });
});

test.each([
  ['RESUMED', 'question_requested', 'WITHDRAWN'],
  ['ANSWERED_ELSEWHERE', 'task_failed', undefined],
] as const)('resolving as %s withdraws the request of %s', async (reason, kind, state) => {
  const user = `resolved-${kind}`;
  const { id } = await publish(gateway, user, kind, { task });
  const before = await revision(user);

  for (const _ of ['once', 'again']) await resolve(gateway, user, task.id, reason);

  const shown = await read(user, id);
  expect([shown.status, shown.resolution, shown.request?.state]).toEqual(['RESOLVED', reason, state]);
  expect(await events(user)).toEqual(state ? [`withdrawn ${id}`] : []);
  expect(await revision(user)).toBe(before + 1);
});

describe('the content of a request', () => {
  const newId = () => randomUUID();
  const base = { expiresInSeconds: 600, onExpiry: answers.reject, supersedes: 'NOTHING' };

  test.each<[string, object]>([
    ['supersedes', { supersedes: 'TOOL_CALL' }],
    ['expiresInSeconds', { expiresInSeconds: 601 }],
    ['expiresAt instead', { expiresInSeconds: null, expiresAt: inSeconds(600) }],
    ['no expiry', { expiresInSeconds: null, onExpiry: null }],
    ['onExpiry', { onExpiry: answers.approve }],
  ])('is CONFLICT with another %s, and equal is the stored one', async (_what, other) => {
    const input = { id: newId(), ...base };
    const first = await send('changed', input);
    expect(await send('changed', input)).toEqual({ ...first, created: false });
    await expect(send('changed', { ...input, ...other })).rejects.toMatchObject(conflict('ID_REUSED'));
  });

  test('is recognized after its expiresAt, whatever became of the request', async () => {
    const input = { id: newId(), expiresAt: inSeconds(0.5) };
    expect((await send('late', input)).created).toBe(true);
    await expect
      .poll(async () => (await read('late', input.id)).request?.state, { timeout: 20_000 })
      .toBe('EXPIRED');

    expect(await send('late', input)).toMatchObject({
      created: false,
      notification: { id: input.id, status: 'RESOLVED', request: { state: 'EXPIRED' } },
    });
    await expect(send('late', { ...input, title: 'Another' })).rejects.toMatchObject(conflict('ID_REUSED'));
    await expect(send('late', { ...input, id: newId() })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input.expiresAt', 'must be in the future']),
    );
  });

  const MAX_BYTES = 65_536;
  const ofSize = (bytes: number) => {
    const payload = { toolId: 't', input: { summary: 'é', plan: '' } };
    payload.input.plan = 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(payload)));
    return { planRequested: payload };
  };
  const ofValues = (values: number) => ({
    planRequested: { toolId: 't', input: { summary: '', plan: '', x: Array(values - 6).fill('abcdef') } },
  });
  const sevenQuestions = Array.from({ length: 7 }, () => ({ question: 'Why?', options: [] }));
  const payload = { questionRequested: { toolId: 't', input: { questions: sevenQuestions } } };
  const answerSeven = (characters: number) => ({
    questions: sevenQuestions.map((_, index) => ({ index, options: [], other: 'x'.repeat(characters) })),
  });
  const tooLarge = expect.stringMatching(/^must have at most 65536 bytes as JSON, and has \d{5}$/);
  /** Makes a stored column larger than it may be. */
  const enlarge = (column: 'on_expiry' | 'answer' | 'payload', id: string, from = 9000, to = 10_000) =>
    gateway.database.sql(
      `update notification set ${column} = replace(${column}::text, repeat('x', $2), repeat('x', $3))::json
        where id = $1`,
      [id, from, to],
    );

  test('has at most 64 KiB and 2,500 values of payload, unless a larger one is stored already', async () => {
    const [id, withValues] = [newId(), newId()];
    expect((await send('large', { id, payload: ofSize(MAX_BYTES) })).created).toBe(true);
    expect((await send('large', { id: withValues, payload: ofValues(2500) })).created).toBe(true);
    for (const [payload, message] of [
      [ofSize(MAX_BYTES + 1), `must have at most ${MAX_BYTES} bytes as JSON, and has ${MAX_BYTES + 1}`],
      [ofValues(2501), 'must have at most 2500 values, and has 2501'],
    ] as const)
      await expect(send('large', { payload })).rejects.toMatchObject(
        refused('VALIDATION_FAILED', ['input.payload', message]),
      );
    await enlarge('payload', id, 5000, 5001);
    const [row] = await gateway.database.sql('select payload from notification where id = $1', [id]);
    expect((await send('large', { id, payload: { planRequested: row?.payload } })).created).toBe(false);
  });

  test('has at most 64 KiB of onExpiry, unless a larger one is stored already', async () => {
    const input = { id: newId(), expiresInSeconds: 600, payload };
    expect((await send('default-size', { ...input, onExpiry: answerSeven(9000) })).created).toBe(true);
    const large = { ...input, onExpiry: answerSeven(10_000) };
    await expect(send('default-size', { ...large, id: newId() })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input.onExpiry', tooLarge]),
    );
    await enlarge('on_expiry', input.id);
    expect((await send('default-size', large)).created).toBe(false);
  });

  test('an answer has at most 64 KiB over either API, unless a larger one is stored already', async () => {
    const user = 'answer-size';
    const { id } = await publish(gateway, user, 'question_requested', { payload });
    const large = { id, answerId: newId(), ...answerSeven(10_000) };
    await expect(answer(gateway, user, large)).rejects.toMatchObject(
      refused('VALIDATION_FAILED', ['input', tooLarge]),
    );
    const { status, body } = await as(user).rest.post(`/user/notifications/${id}/answer`, {
      answer_id: newId(),
      ...answerSeven(10_000),
    });
    expect([status, body.errors]).toEqual([
      422,
      [{ location: 'body', message: tooLarge, value: '[object]' }],
    ]);
    await answer(gateway, user, { ...large, ...answerSeven(9000) });
    await enlarge('answer', id);
    expect(await answer(gateway, user, large)).toMatchObject({ __typename: 'AnswerStored' });
  });

  test('shows the default before it becomes the answer', async () => {
    const expiresAt = inSeconds(600);
    const { request } = (await send('default', { expiresAt, onExpiry: answers.reject })).notification;
    expect(request).toMatchObject({
      state: 'OPEN',
      expiresAt,
      onExpiry: {
        by: null,
        via: 'DEFAULT',
        answerId: null,
        answeredAt: expiresAt,
        plan: answers.reject.plan,
      },
    });
  });

  const asksNothing = 'must be omitted, because the notification asks for no answer';
  const failed = { payload: payloads.task_failed };
  const minute = { expiresInSeconds: 60 };
  test.each<[what: string, input: object, location: string, message?: string]>([
    ['TOOL_CALL for a failure', { ...failed, supersedes: 'TOOL_CALL' }, 'supersedes'],
    ['an expiry of a failure', { ...failed, ...minute }, 'expiresInSeconds', asksNothing],
    ['an expiresAt of a failure', { ...failed, expiresAt: inSeconds(60) }, 'expiresAt', asksNothing],
    [
      'a default without an expiry',
      { onExpiry: answers.reject },
      'onExpiry',
      'requires expiresAt or expiresInSeconds',
    ],
    [
      'two expiries',
      { ...minute, expiresAt: inSeconds(60) },
      'expiresInSeconds',
      'must not be combined with expiresAt',
    ],
    ['an expiry at once', { expiresInSeconds: 0 }, 'expiresInSeconds'],
    ['an expiry after more than a year', { expiresInSeconds: 31_536_001 }, 'expiresInSeconds'],
    ['an expiresAt after more than a year', { expiresAt: inSeconds(2 * 31_536_000) }, 'expiresAt'],
    ['an expiresAt in the past', { expiresAt: inSeconds(-1) }, 'expiresAt', 'must be in the future'],
    [
      'a default for another kind of request',
      { ...minute, onExpiry: answers.reply },
      'onExpiry.reply',
      'does not fit the request, which needs plan',
    ],
  ])('must not have %s, also in a batch', async (_what, input, location, message = expect.any(String)) => {
    await expect(send('invalid', input)).rejects.toMatchObject(
      refused('VALIDATION_FAILED', [`input.${location}`, message]),
    );
    const drafts = [{}, input].map((given) => notification('invalid', 'plan_requested', given));
    await expect(as(platform).publishAll({ notifications: drafts })).rejects.toMatchObject(
      refused('VALIDATION_FAILED', [`input.notifications[1].${location}`, message]),
    );
  });
});

test('lists are filtered by the state of requests, as it is shown', async () => {
  const settle: Record<RequestState, (id: string) => Promise<unknown>> = {
    OPEN: (id) => dismiss(gateway, 'filter', [id]),
    ANSWERED: (id) => answer(gateway, 'filter', { id, ...answers.approve }),
    EXPIRED: (id) => makeExpired(gateway.database, 'filter', id),
    WITHDRAWN: () => resolve(gateway, 'filter', 'WITHDRAWN', 'RESUMED'),
  };
  await publish(gateway, 'filter', 'task_failed');
  const all = ['OPEN', 'ANSWERED', 'EXPIRED', 'WITHDRAWN'] as const;
  const ids = new Map<RequestState, string>();
  for (const state of all) {
    const given = { expiresInSeconds: 600, task: { id: state, projectId: 'p' } };
    const { id } = await publish(gateway, 'filter', 'plan_requested', given);
    ids.set(state, id);
    await settle[state](id);
  }
  await eventually(async () => expect(await states('filter', ...ids.values())).toEqual(all));
  const list = async (...requestStates: RequestState[]) => {
    const { totalCount, nodes } = await as('filter').notifications({ filter: { requestStates } });
    expect(totalCount).toBe(nodes.length);
    return nodes.map(({ id }) => id);
  };

  for (const [state, id] of ids) expect(await list(state)).toEqual([id]);
  expect(await list(...all)).toEqual([...ids.values()].toReversed());
  expect(await list()).toEqual([]);
});

describe('acknowledging', () => {
  test('shows the user what the task did with the answer; the first receipt stays', async () => {
    const { id } = await publish(gateway, 'receipt');
    await answer(gateway, 'receipt', { id, ...answers.approve });
    const before = await revision('receipt');

    const first = await acknowledge(gateway, 'receipt', id, 'REFUSED', 'The task had ended');
    expect(first?.receipt).toMatchObject({ outcome: 'REFUSED', message: 'The task had ended' });
    for (const outcome of ['REFUSED', 'ACCEPTED'])
      expect(await acknowledge(gateway, 'receipt', id, outcome)).toEqual(first);

    expect((await read('receipt', id)).request).toEqual(first);
    expect(await revision('receipt')).toBe(before + 1);
  });

  test('is CONFLICT without an answer, and NOT_FOUND without a notification', async () => {
    const { id } = await publish(gateway, 'unanswered');
    await expect(acknowledge(gateway, 'unanswered', id)).rejects.toMatchObject(conflict('NOT_ANSWERED'));
    await expect(acknowledge(gateway, 'unanswered', 'unknown')).rejects.toMatchObject(refused('NOT_FOUND'));
  });
});

test('a task token may have 20 open requests; what is settled, or asks for nothing, does not count', async () => {
  const asTask = (id: string, given: object) =>
    send('alice', { task: { id, projectId: 'project' }, ...given }, () => signTaskToken('alice', id));
  const id = randomUUID();
  const open = (number: number) => asTask(id, { supersedes: 'NOTHING', id: `${id}:${number}` });
  for (let number = 1; number <= 20; number += 1) expect((await open(number)).created).toBe(true);
  await dismiss(gateway, 'alice', [`${id}:1`, `${id}:2`]);

  await expect(open(21)).rejects.toMatchObject(conflict('LIMIT_REACHED'));
  expect((await open(1)).created).toBe(false);
  expect((await asTask(id, { payload: payloads.task_failed })).created).toBe(true);
  expect((await asTask(randomUUID(), { supersedes: 'NOTHING' })).created).toBe(true);

  await answer(gateway, 'alice', { id: `${id}:1`, ...answers.approve });
  expect((await open(21)).created).toBe(true);
  await expect(open(22)).rejects.toMatchObject(conflict('LIMIT_REACHED'));
  // It withdraws the others.
  expect((await asTask(id, {})).created).toBe(true);
});
