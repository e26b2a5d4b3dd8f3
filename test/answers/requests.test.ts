import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { type GraphQLReply, graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { asMember, asPlatform, type Kind, payloads, publish, resolve } from '../support/records.ts';
import {
  acknowledge as acknowledgeAt,
  answer,
  answers,
  currentRevision,
  listEvents,
  makeExpired,
  readNotification,
  refuseAnswer,
} from '../support/requests.ts';
import { member, platform, signTaskToken } from '../support/tokens.ts';

const gateway = useGateway();

const read = (userId: string, id: string) => readNotification(gateway, userId, id);
const events = (userId: string) => listEvents(gateway.database, userId);

type Input = Record<string, unknown>;

/** Publishes, and returns the whole reply. */
async function send(userId: string, input: Input, at = gateway, token?: string): Promise<GraphQLReply> {
  const query = `mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) {
    created notification { ... on UserNotification { id status request { state expiresAt onExpiry { by via answerId answeredAt plan { decision } } } } } } }`;
  const task = { id: 'task', projectId: 'project' };
  const complete = { userId, task, title: 'A title', payload: payloads.plan_requested, ...input };
  return graphql(at, query, { input: complete }, { token: token ?? (await platform()) });
}

const extensionsOf = ({ errors, text }: GraphQLReply) => {
  if (errors.length === 0) throw new Error(text);
  return errors[0].extensions;
};

const question = (toolId: string) => ({
  questionRequested: { ...payloads.question_requested.questionRequested, toolId },
});
const inSeconds = (seconds: number) => new Date(Date.now() + 1000 * seconds).toISOString();

/** Publishes a question in a task and returns its ID. */
async function ask(userId: string, supersedes: string, toolId: string, input: Input = {}): Promise<string> {
  const task = { id: 'task', projectId: 'project' };
  return (
    await publish(gateway, userId, 'question_requested', {
      task,
      supersedes,
      payload: question(toolId),
      ...input,
    })
  ).id;
}

/** Lists the states of a user's requests, in the order of publication. */
async function states(userId: string, ...ids: string[]): Promise<string[]> {
  const found = await Promise.all(ids.map((id) => read(userId, id)));
  return found.map(({ request }) => request.state);
}

describe('supersedes', () => {
  test('TASK_AND_KIND, the default, withdraws all of the task and kind, dismissed or not', async () => {
    const ids = [
      await ask('all', 'TASK_AND_KIND', 'a'),
      await ask('all', 'TOOL_CALL', 'a'),
      await ask('all', 'NOTHING', 'a'),
    ];
    await dismiss(gateway, 'all', ids.slice(2));
    const plan = await publish(gateway, 'all', 'plan_requested', { task: { id: 'task', projectId: 'p' } });
    const other = await publish(gateway, 'all', 'question_requested');
    expect(await states('all', ...ids)).toEqual(['OPEN', 'OPEN', 'OPEN']);
    const before = await currentRevision(gateway.database, 'all');

    const { data } = await send('all', { payload: question('b') });

    expect(await states('all', ...ids)).toEqual(['WITHDRAWN', 'WITHDRAWN', 'WITHDRAWN']);
    const shown = await Promise.all(ids.map((id) => read('all', id)));
    expect(shown.map(({ status, resolution }) => [status, resolution])).toEqual([
      ['RESOLVED', 'SUPERSEDED'],
      ['RESOLVED', 'SUPERSEDED'],
      ['DISMISSED', 'SUPERSEDED'],
    ]);
    expect(await states('all', plan.id, other.id, data.publishNotification.notification.id)).toEqual(
      Array(3).fill('OPEN'),
    );
    expect(await currentRevision(gateway.database, 'all')).toBe(before + 4);
    expect((await events('all')).slice(1)).toEqual(ids.map((id) => `withdrawn ${id}`));
  });

  test('TOOL_CALL withdraws those of the same tool call only', async () => {
    const whole = await ask('tool', 'TASK_AND_KIND', 'a');
    const first = await ask('tool', 'TOOL_CALL', 'a');
    const other = await ask('tool', 'TOOL_CALL', 'b');
    const own = await ask('tool', 'NOTHING', 'a');
    const plan = await publish(gateway, 'tool', 'plan_requested', {
      task: { id: 'task', projectId: 'p' },
      supersedes: 'TOOL_CALL',
      payload: { planRequested: { ...payloads.plan_requested.planRequested, toolId: 'a' } },
    });

    const second = await ask('tool', 'TOOL_CALL', 'a');

    expect(await states('tool', whole, first, other, own, plan.id, second)).toEqual([
      'OPEN',
      'WITHDRAWN',
      'OPEN',
      'OPEN',
      'OPEN',
      'OPEN',
    ]);
  });

  test('NOTHING withdraws none, and several of a task are answered independently', async () => {
    const ids = [await ask('none', 'NOTHING', 'a'), await ask('none', 'NOTHING', 'a')];
    const [first = '', second = ''] = ids;

    await answer(gateway, 'none', { id: second, ...answers.second });

    expect(await states('none', ...ids)).toEqual(['OPEN', 'ANSWERED']);
    await answer(gateway, 'none', { id: first, ...answers.first });
    expect((await read('none', first)).request.answer.questions).toMatchObject([{ labels: ['A'] }]);
  });

  test.each<Kind>(['task_failed', 'task_response_ready'])(
    'TOOL_CALL is rejected for %s, which has no tool ID',
    async (kind) => {
      const reply = await send('invalid', { supersedes: 'TOOL_CALL', payload: payloads[kind] });

      expect(extensionsOf(reply)).toMatchObject({
        code: 'VALIDATION_FAILED',
        errors: [{ location: 'input.supersedes', value: 'TOOL_CALL' }],
      });
    },
  );

  test('the order in time holds within a slot', async () => {
    const at = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;
    const publishAt = (userId: string, minute: number, supersedes: string, toolId = 'a') =>
      ask(userId, supersedes, toolId, { occurredAt: at(minute) });
    const later = await publishAt('order', 5, 'TOOL_CALL');
    const late = await publishAt('order', 4, 'TOOL_CALL');
    const another = await publishAt('order', 3, 'TOOL_CALL', 'b');
    const alone = await publishAt('order', 2, 'NOTHING');
    const whole = await publishAt('order', 3, 'TASK_AND_KIND');

    expect(await states('order', later, late, another, alone, whole)).toEqual([
      'OPEN',
      'WITHDRAWN',
      'WITHDRAWN',
      'WITHDRAWN',
      'OPEN',
    ]);
    const older = await publishAt('order', 2, 'TASK_AND_KIND');
    expect(await states('order', later, whole, older)).toEqual(['OPEN', 'OPEN', 'WITHDRAWN']);
  });

  test('only `before` of resolveNotifications applies to a late one that supersedes nothing', async () => {
    const now = '2026-01-01T00:05:00.000Z';
    await ask('before', 'NOTHING', 'a', { occurredAt: '2026-01-01T00:09:00.000Z' });
    await resolve(gateway, 'before', 'task', 'RESUMED', now);

    const covered = await ask('before', 'NOTHING', 'a', { occurredAt: now });
    const later = await ask('before', 'NOTHING', 'a', { occurredAt: '2026-01-01T00:05:00.001Z' });

    expect(await states('before', covered, later)).toEqual(['WITHDRAWN', 'OPEN']);
  });

  test('a request that arrives settled is withdrawn at once, with its event', async () => {
    const task = { id: 'task', projectId: 'project' };
    await resolve(gateway, 'settled', 'task', 'TASK_DELETED', '2026-01-01T00:00:00.000Z');
    const input = { task, occurredAt: '2026-01-01T00:00:00.000Z' };
    const { id } = await publish(gateway, 'settled', 'plan_requested', input);
    await publish(gateway, 'settled', 'task_failed', input);

    expect(await read('settled', id)).toMatchObject({
      status: 'RESOLVED',
      resolution: 'TASK_DELETED',
      request: { state: 'WITHDRAWN' },
    });
    expect(await events('settled')).toEqual([`withdrawn ${id}`]);
    expect(await answer(gateway, 'settled', { id, ...answers.approve })).toMatchObject({
      __typename: 'AlreadySettled',
      state: 'WITHDRAWN',
    });
  });
});

describe('resolving', () => {
  test.each([
    ['ANSWERED_ELSEWHERE', 'plan_requested', 'WITHDRAWN'],
    ['RESUMED', 'question_requested', 'WITHDRAWN'],
    ['TASK_DELETED', 'task_response_ready', 'WITHDRAWN'],
    ['ANSWERED_ELSEWHERE', 'task_failed', undefined],
  ] as const)('as %s withdraws the request of %s', async (reason, kind, state) => {
    const task = { id: randomUUID(), projectId: 'p' };
    const { id } = await publish(gateway, 'resolved', kind, { task });
    const before = (await events('resolved')).length;
    const revision = await currentRevision(gateway.database, 'resolved');

    await resolve(gateway, 'resolved', task.id, reason);
    await resolve(gateway, 'resolved', task.id, reason);

    const shown = await read('resolved', id);
    expect(shown).toMatchObject({ status: 'RESOLVED', resolution: reason });
    expect(shown.request?.state).toBe(state);
    expect((await events('resolved')).slice(before)).toEqual(state ? [`withdrawn ${id}`] : []);
    expect(await currentRevision(gateway.database, 'resolved')).toBe(revision + 1);
  });

  test('does not change an answered request, not even one that was dismissed', async () => {
    const task = { id: randomUUID(), projectId: 'p' };
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
  const id = () => randomUUID();
  const base = { expiresInSeconds: 600, onExpiry: answers.reject, supersedes: 'NOTHING' };

  test('returns the stored notification if it is published again', async () => {
    const input = { id: id(), ...base };

    const [first, second] = [await send('repeated', input), await send('repeated', input)];

    expect(first.data.publishNotification.created).toBe(true);
    expect(second.data.publishNotification).toEqual({ ...first.data.publishNotification, created: false });
  });

  test.each<[string, Input]>([
    ['supersedes', { supersedes: 'TASK_AND_KIND' }],
    ['supersedes of a tool call', { supersedes: 'TOOL_CALL' }],
    ['expiresInSeconds', { expiresInSeconds: 601 }],
    ['expiresAt instead', { expiresInSeconds: null, expiresAt: inSeconds(600) }],
    ['no expiry', { expiresInSeconds: null, onExpiry: null }],
    ['onExpiry', { onExpiry: answers.approve }],
    ['no onExpiry', { onExpiry: null }],
  ])('is CONFLICT with another %s', async (_what, other) => {
    const input = { id: id(), ...base };
    await send('changed', input);

    expect(extensionsOf(await send('changed', { ...input, ...other }))).toMatchObject({
      code: 'CONFLICT',
      reason: 'ID_REUSED',
    });
  });

  test('is recognized after its expiresAt, whatever became of the request', async () => {
    const input = { id: id(), expiresAt: inSeconds(0.5) };
    const first = await send('late', input);
    expect(first.data.publishNotification.created).toBe(true);
    await expect
      .poll(async () => (await read('late', input.id)).request.state, { timeout: 20_000 })
      .toBe('EXPIRED');

    const { data } = await send('late', input);

    expect(data.publishNotification).toMatchObject({
      created: false,
      notification: { id: input.id, status: 'RESOLVED', request: { state: 'EXPIRED' } },
    });
    expect(extensionsOf(await send('late', { ...input, title: 'Another' }))).toMatchObject({
      reason: 'ID_REUSED',
    });
    expect(extensionsOf(await send('late', { ...input, id: id() }))).toMatchObject({
      code: 'VALIDATION_FAILED',
      errors: [{ location: 'input.expiresAt', message: 'must be in the future', value: input.expiresAt }],
    });
  });

  const MAX_BYTES = 65_536;
  const tooLarge = (bytes: number) => `must have at most ${MAX_BYTES} bytes as JSON, and has ${bytes}`;
  const ofSize = (bytes: number) => {
    const payload = { toolId: 't', input: { summary: 'é', plan: '' } };
    payload.input.plan = 'x'.repeat(bytes - Buffer.byteLength(JSON.stringify(payload)));
    return payload;
  };
  const sevenQuestions = {
    toolId: 't',
    input: { questions: Array.from({ length: 7 }, () => ({ question: 'Why?', options: [] })) },
  };
  const answerSeven = (characters: number) =>
    Array.from({ length: 7 }, (_, index) => ({ index, options: [], other: 'x'.repeat(characters) }));

  test('has at most 64 KiB of payload, unless a larger one is stored already', async () => {
    const input = { id: id(), payload: { planRequested: ofSize(MAX_BYTES) } };
    expect((await send('large', input)).data.publishNotification.created).toBe(true);
    const larger = { ...input, payload: { planRequested: ofSize(MAX_BYTES + 1) } };
    expect(extensionsOf(await send('large', { ...larger, id: id() })).errors).toEqual([
      { location: 'input.payload', message: tooLarge(MAX_BYTES + 1), value: '[object]' },
    ]);
    await gateway.database.sql(`update notification set payload = $2 where user_id = 'large' and id = $1`, [
      input.id,
      JSON.stringify(larger.payload.planRequested),
    ]);
    expect((await send('large', larger)).data.publishNotification.created).toBe(false);
  });

  test('has at most 2,500 values in its payload', async () => {
    const payload = (values: number) => ({
      planRequested: { toolId: 't', input: { summary: '', plan: '', x: Array(values - 6).fill('abcdef') } },
    });
    const of = (values: number) => send('values', { id: id(), payload: payload(values) });
    expect((await of(2500)).data.publishNotification.created).toBe(true);
    expect(extensionsOf(await of(2501)).errors).toMatchObject([
      { location: 'input.payload', message: 'must have at most 2500 values, and has 2501' },
    ]);
  });

  test('has at most 64 KiB of onExpiry, unless a larger one is stored already', async () => {
    const shared = { id: id(), expiresInSeconds: 600, payload: { questionRequested: sevenQuestions } };
    const small = { ...shared, onExpiry: { questions: answerSeven(9000) } };
    expect((await send('default-size', small)).data.publishNotification.created).toBe(true);
    const large = { ...shared, onExpiry: { questions: answerSeven(10_000) } };
    expect(extensionsOf(await send('default-size', { ...large, id: id() })).errors).toMatchObject([
      { location: 'input.onExpiry', message: expect.stringMatching(/^must have at most 65536 bytes/) },
    ]);
    await gateway.database.sql(
      `update notification set on_expiry = replace(on_expiry::text, repeat('x', 9000), repeat('x', 10000))::json
        where user_id = 'default-size' and id = $1`,
      [shared.id],
    );
    expect((await send('default-size', large)).data.publishNotification.created).toBe(false);
  });

  test('an answer has at most 64 KiB over either API, unless a larger one is stored already', async () => {
    const { id: notification } = await publish(gateway, 'answer-size', 'question_requested', {
      payload: { questionRequested: sevenQuestions },
    });
    const large = { id: notification, answerId: id(), questions: answerSeven(10_000) };
    const message = expect.stringMatching(/^must have at most 65536 bytes as JSON, and has \d{5}$/);
    expect(await refuseAnswer(gateway, 'answer-size', large)).toMatchObject({
      errors: [{ location: 'input', message }],
    });
    const { status, body } = await rest(gateway, 'POST', `/user/notifications/${notification}/answer`, {
      token: await member('answer-size'),
      body: { answer_id: id(), questions: answerSeven(10_000) },
    });
    expect([status, body.errors]).toEqual([422, [{ location: 'body', message, value: '[object]' }]]);
    await answer(gateway, 'answer-size', { ...large, questions: answerSeven(9000) });
    await gateway.database.sql(
      `update notification set answer = replace(answer::text, repeat('x', 9000), repeat('x', 10000))::json
        where user_id = 'answer-size'`,
    );
    expect(await answer(gateway, 'answer-size', large)).toMatchObject({ __typename: 'AnswerStored' });
  });

  test('shows the default before it becomes the answer', async () => {
    const expiresAt = inSeconds(600);
    const { data } = await send('default', { expiresAt, onExpiry: answers.reject });

    expect(data.publishNotification.notification.request).toEqual({
      state: 'OPEN',
      expiresAt,
      onExpiry: {
        by: null,
        via: 'DEFAULT',
        answerId: null,
        answeredAt: expiresAt,
        plan: { decision: 'REJECT' },
      },
    });
  });

  const asksNothing = 'must be omitted, because the notification asks for no answer';
  test.each<[string, Input, string, string]>([
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
    ['an expiry at once', { expiresInSeconds: 0 }, 'expiresInSeconds', ''],
    ['an expiry after more than a year', { expiresInSeconds: 31_536_001 }, 'expiresInSeconds', ''],
    ['an expiresAt after more than a year', { expiresAt: inSeconds(2 * 31_536_000) }, 'expiresAt', ''],
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
  ])('must not have %s', async (_what, input, location, message) => {
    const { code, errors } = extensionsOf(await send('invalid', input));

    expect([code, errors[0].location]).toEqual(['VALIDATION_FAILED', `input.${location}`]);
    if (message !== '') expect(errors[0].message).toBe(message);
  });

  test('locates the item of publishNotifications', async () => {
    const query =
      'mutation ($input: PublishNotificationsInput!) { publishNotifications(input: $input) { results { created } } }';
    const task = { id: 'task', projectId: 'project' };
    const valid = { userId: 'batch', task, title: 'A title', payload: payloads.plan_requested };
    const notifications = [valid, { ...valid, expiresAt: inSeconds(-1) }];

    const reply = await graphql(gateway, query, { input: { notifications } }, { token: await platform() });

    expect(extensionsOf(reply).errors).toMatchObject([{ location: 'input.notifications[1].expiresAt' }]);
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
    const task = { id: state, projectId: 'p' };
    const { id } = await publish(gateway, 'filter', 'plan_requested', { expiresInSeconds: 600, task });
    ids.set(state, id);
    await run(id);
  }
  const query = `query ($states: [RequestState!]) { notifications(filter: { requestStates: $states }) {
    totalCount nodes { ... on UserNotification { id } } } }`;
  const list = async (...states: string[]) => {
    const { notifications } = await asMember(gateway, 'filter', query, { states });
    expect(notifications.totalCount).toBe(notifications.nodes.length);
    return notifications.nodes.map(({ id }: { id: string }) => id);
  };

  for (const [state, id] of ids) expect(await list(state)).toEqual([id]);
  expect(await list('OPEN', 'OPEN')).toEqual([ids.get('OPEN')]);
  expect(await list('OPEN', 'WITHDRAWN')).toEqual([ids.get('WITHDRAWN'), ids.get('OPEN')]);
  expect(await list(...ids.keys())).toEqual([...ids.values()].toReversed());
  expect(await list()).toEqual([]);
});

describe('acknowledging', () => {
  const acknowledge = (userId: string, id: string, outcome?: string, message?: string) =>
    acknowledgeAt(gateway, userId, id, outcome, message);

  test('shows the user what the task did with the answer; the first receipt stays', async () => {
    const { id } = await publish(gateway, 'receipt');
    await answer(gateway, 'receipt', { id, ...answers.approve });
    const revision = await currentRevision(gateway.database, 'receipt');

    const { data } = await acknowledge('receipt', id, 'REFUSED', 'The task had ended');
    const { receipt } = data.acknowledgeAnswer.notification.request;
    expect(receipt).toMatchObject({ outcome: 'REFUSED', message: 'The task had ended' });
    for (const outcome of ['REFUSED', 'ACCEPTED']) {
      const repeated = await acknowledge('receipt', id, outcome);
      expect(repeated.data.acknowledgeAnswer.notification.request.receipt).toEqual(receipt);
    }

    expect((await read('receipt', id)).request.receipt).toEqual(receipt);
    expect(await currentRevision(gateway.database, 'receipt')).toBe(revision + 1);
  });

  test('is CONFLICT without an answer, and NOT_FOUND without a notification', async () => {
    const { id } = await publish(gateway, 'unanswered');
    const failed = await publish(gateway, 'unanswered', 'task_failed');

    for (const given of [id, failed.id]) {
      expect(extensionsOf(await acknowledge('unanswered', given))).toMatchObject({
        code: 'CONFLICT',
        reason: 'NOT_ANSWERED',
      });
    }
    expect(extensionsOf(await acknowledge('unanswered', 'unknown'))).toEqual({ code: 'NOT_FOUND' });
  });

  test('a default that is due is stored first', async () => {
    const input = { expiresInSeconds: 600, onExpiry: answers.reject };
    const { id } = await publish(gateway, 'due', 'plan_requested', input);
    await makeExpired(gateway.database, 'due', id);

    const { data } = await acknowledge('due', id);

    expect(data?.acknowledgeAnswer.notification.request).toMatchObject({
      state: 'ANSWERED',
      receipt: { outcome: 'ACCEPTED' },
    });
  });
});

describe('a task token', () => {
  const task = () => ({ id: randomUUID(), projectId: 'project' });
  const asTask = async (id: string, input: Input) =>
    send(
      'alice',
      { task: { id, projectId: 'project' }, ...input },
      gateway,
      await signTaskToken('alice', id),
    );

  test('may have 20 open requests; what is settled, or asks for nothing, does not count', async () => {
    const { id } = task();
    const open = { supersedes: 'NOTHING' };
    const ids: string[] = [];
    for (let n = 1; n <= 20; n += 1) {
      const { data } = await asTask(id, { ...open, id: `${id}:${n}` });
      ids.push(data.publishNotification.notification.id);
    }
    await dismiss(gateway, 'alice', ids.slice(0, 3));

    const refused = await asTask(id, { ...open, id: `${id}:21` });
    expect(extensionsOf(refused)).toMatchObject({ code: 'CONFLICT', reason: 'LIMIT_REACHED' });
    expect(extensionsOf(await asTask(id, { id: `${id}:1`, title: 'Another' }))).toMatchObject({
      reason: 'ID_REUSED',
    });
    expect((await asTask(id, { ...open, id: `${id}:1` })).data.publishNotification.created).toBe(false);
    expect((await asTask(id, { payload: payloads.task_failed })).data.publishNotification.created).toBe(true);
    expect((await asTask(task().id, open)).errors).toEqual([]);

    await answer(gateway, 'alice', { id: ids[0], ...answers.approve });
    expect((await asTask(id, { ...open, id: `${id}:21` })).data.publishNotification.created).toBe(true);
    expect(extensionsOf(await asTask(id, { ...open, id: `${id}:22` }))).toMatchObject({ code: 'CONFLICT' });
    expect((await asTask(id, {})).data.publishNotification.created).toBe(true);
  });

  test('acknowledges answers of its own task only', async () => {
    const own = task();
    const { id } = await publish(gateway, 'alice', 'plan_requested', { task: own });
    await answer(gateway, 'alice', { id, ...answers.approve });

    const other = await acknowledgeAt(
      gateway,
      'alice',
      id,
      'REFUSED',
      null,
      await signTaskToken('alice', 'other'),
    );
    expect(extensionsOf(other)).toEqual({ code: 'NOT_FOUND' });
    const { data } = await acknowledgeAt(
      gateway,
      'alice',
      id,
      'ACCEPTED',
      null,
      await signTaskToken('alice', own.id),
    );
    expect(data.acknowledgeAnswer.notification.request.receipt.outcome).toBe('ACCEPTED');
  });
});

test('a publication with an ID returns the same notification to all concurrent retries', async () => {
  const input = { userId: 'twice', id: 'n', task: { id: 'task', projectId: 'p' }, title: 'T' };
  const publishing = () =>
    asPlatform(
      gateway,
      'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }',
      { input: { ...input, payload: payloads.plan_requested, expiresInSeconds: 60, supersedes: 'NOTHING' } },
    );

  const results = await Promise.all([publishing(), publishing(), publishing(), publishing()]);

  expect(results.filter(({ publishNotification }) => publishNotification.created)).toHaveLength(1);
});
