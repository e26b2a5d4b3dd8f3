import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { conflict, refused } from '../support/as.ts';
import { useGateway } from '../support/gateway.ts';
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
    const before = await revision('all');

    const last = await send('all', { payload: question('b') });

    const shown = await Promise.all(ids.map((id) => read('all', id)));
    expect(shown.map(({ status, resolution, request }) => [status, resolution, request?.state])).toEqual([
      ['RESOLVED', 'SUPERSEDED', 'WITHDRAWN'],
      ['RESOLVED', 'SUPERSEDED', 'WITHDRAWN'],
      ['DISMISSED', 'SUPERSEDED', 'WITHDRAWN'],
    ]);
    const open = [plan.notification.id, other.id, last.notification.id];
    expect(await states('all', ...open)).toEqual(['OPEN', 'OPEN', 'OPEN']);
    expect(await revision('all')).toBe(before + 4);
    expect((await events('all')).slice(1)).toEqual(ids.map((id) => `withdrawn ${id}`));
  });

  test('TOOL_CALL withdraws those of the same tool call only', async () => {
    const whole = await ask('tool', 'TASK_AND_KIND', 'a');
    const first = await ask('tool', 'TOOL_CALL', 'a');
    const other = await ask('tool', 'TOOL_CALL', 'b');
    const own = await ask('tool', 'NOTHING', 'a');
    const payload = { planRequested: { ...payloads.plan_requested.planRequested, toolId: 'a' } };
    const { id: plan } = (await send('tool', { supersedes: 'TOOL_CALL', payload })).notification;

    await ask('tool', 'TOOL_CALL', 'a');

    expect(await states('tool', first, whole, other, own, plan)).toEqual([
      'WITHDRAWN',
      ...Array(4).fill('OPEN'),
    ]);
  });

  test('NOTHING withdraws none, and several of a task are answered independently', async () => {
    const first = await ask('none', 'NOTHING', 'a');
    const second = await ask('none', 'NOTHING', 'a');

    await answer(gateway, 'none', { id: second, ...answers.second });

    expect(await states('none', first, second)).toEqual(['OPEN', 'ANSWERED']);
    await answer(gateway, 'none', { id: first, ...answers.first });
    expect((await read('none', first)).request?.answer?.questions).toMatchObject([{ labels: ['A'] }]);
  });

  test.each(['task_failed', 'task_response_ready'] as const)(
    'TOOL_CALL is refused for %s, which has no tool ID',
    async (kind) => {
      await expect(
        send('invalid', { supersedes: 'TOOL_CALL', payload: payloads[kind] }),
      ).rejects.toMatchObject(refused('VALIDATION_FAILED', 'input.supersedes'));
    },
  );

  test('a request that arrives settled is withdrawn at once, with its event', async () => {
    const occurredAt = '2026-01-01T00:00:00.000Z';
    await resolve(gateway, 'settled', 'task', 'TASK_DELETED', occurredAt);
    const id = await ask('settled', 'NOTHING', 'a', { occurredAt });
    const later = await ask('settled', 'NOTHING', 'a', { occurredAt: '2026-01-01T00:00:00.001Z' });
    await send('settled', { payload: payloads.task_failed, occurredAt });

    expect(await read('settled', id)).toMatchObject({
      status: 'RESOLVED',
      resolution: 'TASK_DELETED',
      request: { state: 'WITHDRAWN' },
    });
    expect(await events('settled')).toEqual([`withdrawn ${id}`]);
    expect(await answer(gateway, 'settled', { id, ...answers.first })).toMatchObject({
      __typename: 'AlreadySettled',
      state: 'WITHDRAWN',
    });
    expect(await states('settled', later)).toEqual(['OPEN']);
  });
});

describe('resolving', () => {
  test.each([
    ['ANSWERED_ELSEWHERE', 'plan_requested', 'WITHDRAWN'],
    ['RESUMED', 'question_requested', 'WITHDRAWN'],
    ['TASK_DELETED', 'task_response_ready', 'WITHDRAWN'],
    ['ANSWERED_ELSEWHERE', 'task_failed', undefined],
  ] as const)('as %s withdraws the request of %s', async (reason, kind, state) => {
    const user = `resolved-${kind}`;
    const { id } = await publish(gateway, user, kind, { task });
    const before = await revision(user);

    for (const _ of ['once', 'again']) await resolve(gateway, user, task.id, reason);

    const shown = await read(user, id);
    expect([shown.status, shown.resolution, shown.request?.state]).toEqual(['RESOLVED', reason, state]);
    expect(await events(user)).toEqual(state ? [`withdrawn ${id}`] : []);
    expect(await revision(user)).toBe(before + 1);
  });

  test('does not change an answered request, not even one that was dismissed', async () => {
    const { id } = await publish(gateway, 'kept', 'plan_requested', { task });
    await answer(gateway, 'kept', { id, ...answers.approve });
    await dismiss(gateway, 'kept', [id]);
    const before = await read('kept', id);

    await resolve(gateway, 'kept', task.id, 'TASK_DELETED');
    await publish(gateway, 'kept', 'plan_requested', { task });

    expect(await read('kept', id)).toEqual(before);
  });
});

describe('the content of a request', () => {
  const newId = () => randomUUID();
  const base = { expiresInSeconds: 600, onExpiry: answers.reject, supersedes: 'NOTHING' };

  test.each<[string, object]>([
    ['supersedes', { supersedes: 'TASK_AND_KIND' }],
    ['supersedes of a tool call', { supersedes: 'TOOL_CALL' }],
    ['expiresInSeconds', { expiresInSeconds: 601 }],
    ['expiresAt instead', { expiresInSeconds: null, expiresAt: inSeconds(600) }],
    ['no expiry', { expiresInSeconds: null, onExpiry: null }],
    ['onExpiry', { onExpiry: answers.approve }],
    ['no onExpiry', { onExpiry: null }],
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
  const anyMessage = expect.any(String);
  test.each<[string, object, string, string]>([
    [
      'an expiry of a failure',
      { payload: payloads.task_failed, expiresInSeconds: 60 },
      'expiresInSeconds',
      asksNothing,
    ],
    [
      'an expiresAt of a failure',
      { payload: payloads.task_failed, expiresAt: inSeconds(60) },
      'expiresAt',
      asksNothing,
    ],
    [
      'a default without an expiry',
      { onExpiry: answers.reject },
      'onExpiry',
      'requires expiresAt or expiresInSeconds',
    ],
    [
      'two expiries',
      { expiresAt: inSeconds(60), expiresInSeconds: 60 },
      'expiresInSeconds',
      'must not be combined with expiresAt',
    ],
    ['an expiry at once', { expiresInSeconds: 0 }, 'expiresInSeconds', anyMessage],
    ['an expiry after more than a year', { expiresInSeconds: 31_536_001 }, 'expiresInSeconds', anyMessage],
    [
      'an expiresAt after more than a year',
      { expiresAt: inSeconds(2 * 31_536_000) },
      'expiresAt',
      anyMessage,
    ],
    ['an expiresAt in the past', { expiresAt: inSeconds(-1) }, 'expiresAt', 'must be in the future'],
    [
      'a default for another kind of request',
      { expiresInSeconds: 60, onExpiry: answers.reply },
      'onExpiry.reply',
      'does not fit the request, which needs plan',
    ],
    [
      'an incomplete default',
      { expiresInSeconds: 60, payload: question('a'), onExpiry: { questions: [] } },
      'onExpiry.questions',
      'must answer every question; index 0 is left out',
    ],
  ])('must not have %s, also in a batch', async (_what, input, location, message) => {
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
  const settle: Record<string, (id: string) => Promise<unknown>> = {
    OPEN: (id) => dismiss(gateway, 'filter', [id]),
    ANSWERED: (id) => answer(gateway, 'filter', { id, ...answers.approve }),
    EXPIRED: async (id) => {
      await makeExpired(gateway.database, 'filter', id);
      await answer(gateway, 'filter', { id, ...answers.approve });
    },
    WITHDRAWN: () => resolve(gateway, 'filter', 'WITHDRAWN', 'RESUMED'),
  };
  await publish(gateway, 'filter', 'task_failed');
  const ids = new Map<string, string>();
  for (const [state, run] of Object.entries(settle)) {
    const given = { expiresInSeconds: 600, task: { id: state, projectId: 'p' } };
    const { id } = await publish(gateway, 'filter', 'plan_requested', given);
    ids.set(state, id);
    await run(id);
  }
  const list = async (...states: string[]) => {
    const query = `query ($states: [RequestState!]) { notifications(filter: { requestStates: $states }) {
      totalCount nodes { ... on UserNotification { id } } } }`;
    const { totalCount, nodes } = (await as('filter').graphql(query, { states })).data.notifications;
    expect(totalCount).toBe(nodes.length);
    return nodes.map(({ id }: { id: string }) => id);
  };

  for (const [state, id] of ids) expect(await list(state)).toEqual([id]);
  expect(await list('OPEN', 'OPEN')).toEqual([ids.get('OPEN')]);
  expect(await list('OPEN', 'WITHDRAWN')).toEqual([ids.get('WITHDRAWN'), ids.get('OPEN')]);
  expect(await list(...ids.keys())).toEqual([...ids.values()].toReversed());
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
    const failed = await publish(gateway, 'unanswered', 'task_failed');
    for (const [given, refusal] of [
      [id, conflict('NOT_ANSWERED')],
      [failed.id, conflict('NOT_ANSWERED')],
      ['unknown', refused('NOT_FOUND')],
    ] as const)
      await expect(acknowledge(gateway, 'unanswered', given)).rejects.toMatchObject(refusal);
  });

  test('a default that is due is stored first', async () => {
    const input = { expiresInSeconds: 600, onExpiry: answers.reject };
    const { id } = await publish(gateway, 'due', 'plan_requested', input);
    await makeExpired(gateway.database, 'due', id);
    expect(await acknowledge(gateway, 'due', id)).toMatchObject({
      state: 'ANSWERED',
      receipt: { outcome: 'ACCEPTED' },
    });
  });
});

describe('a task token', () => {
  const asTask = (id: string, given: object) =>
    send('alice', { task: { id, projectId: 'project' }, ...given }, () => signTaskToken('alice', id));

  test('may have 20 open requests; what is settled, or asks for nothing, does not count', async () => {
    const id = randomUUID();
    const open = (number: number) => asTask(id, { supersedes: 'NOTHING', id: `${id}:${number}` });
    for (let number = 1; number <= 20; number += 1) expect((await open(number)).created).toBe(true);
    await dismiss(gateway, 'alice', [`${id}:1`, `${id}:2`]);

    await expect(open(21)).rejects.toMatchObject(conflict('LIMIT_REACHED'));
    await expect(asTask(id, { id: `${id}:1`, title: 'Another' })).rejects.toMatchObject(
      conflict('ID_REUSED'),
    );
    expect((await open(1)).created).toBe(false);
    expect((await asTask(id, { payload: payloads.task_failed })).created).toBe(true);
    expect((await asTask(randomUUID(), { supersedes: 'NOTHING' })).created).toBe(true);

    await answer(gateway, 'alice', { id: `${id}:1`, ...answers.approve });
    expect((await open(21)).created).toBe(true);
    await expect(open(22)).rejects.toMatchObject(conflict('LIMIT_REACHED'));
    expect((await asTask(id, {})).created).toBe(true);
  });

  test('acknowledges answers of its own task only', async () => {
    const { id } = await publish(gateway, 'alice', 'plan_requested', { task });
    await answer(gateway, 'alice', { id, ...answers.approve });
    const acknowledgeAs = (taskId: string) =>
      acknowledge(gateway, 'alice', id, 'ACCEPTED', null, () => signTaskToken('alice', taskId));

    await expect(acknowledgeAs('other')).rejects.toMatchObject(refused('NOT_FOUND'));
    expect((await acknowledgeAs(task.id))?.receipt?.outcome).toBe('ACCEPTED');
  });
});

test('a publication with an ID returns the same notification to all concurrent retries', async () => {
  const input = { id: 'n', expiresInSeconds: 60, supersedes: 'NOTHING' };
  const results = await Promise.all(Array.from({ length: 4 }, () => send('twice', input)));
  expect(results.filter(({ created }) => created)).toHaveLength(1);
});
