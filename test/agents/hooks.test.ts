import { describe, expect, test } from 'vitest';
import { awaitOpen, listOpen, recordedBody, sendHook } from '../support/agents.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { answer, listEvents, makeExpired } from '../support/requests.ts';
import { signTaskToken } from '../support/tokens.ts';

const gateway = useGateway();

const bash = recordedBody('claude', 'Bash');
const plan = recordedBody('claude', 'ExitPlanMode');
/** Claude Code asks for permissions beside a plan. */
const granting = {
  ...plan,
  tool_input: { ...Object(plan.tool_input), allowedPrompts: [{ tool: 'Bash', prompt: 'run tests' }] },
};
const question = recordedBody('claude', 'AskUserQuestion');
const codexBash = recordedBody('codex', 'Bash');
const other = (text: string) => ({ questions: [{ index: 0, options: [], other: text }] });
const option = (index: number) => ({ questions: [{ index: 0, options: [index] }] });
const decide = (decision: string, feedback: string | null = null) => ({ plan: { decision, feedback } });

/** Runs `act` while a hook of a user waits, and returns the reply and the request. */
async function duringWait(
  userId: string,
  body: unknown,
  act: (id: string) => unknown,
  parameters: Record<string, string> = {},
) {
  const reply = sendHook(gateway, body, { userId, ...parameters });
  const [request] = await awaitOpen(gateway, userId);
  await act(request.id);
  return { reply: await reply, request, id: request.id };
}

const readRequest = async (userId: string, id: string) =>
  (await gateway.as(userId).notification({ id })).request;
const expectWithdrawn = (userId: string, id: string) =>
  eventually(async () => expect(await readRequest(userId, id)).toMatchObject({ state: 'WITHDRAWN' }));

describe('a decision', () => {
  const allow = { behavior: 'allow' };
  const deny = (message: string) => ({ behavior: 'deny', message });
  const [suggestion] = Object(bash.permission_suggestions);
  const asked = 'Which database should the cart use?';
  const updated = (text: string) => ({ ...Object(question.tool_input), answers: { [asked]: text } });

  test.each<[string, string, object, object, object]>([
    ['allows once', 'claude', bash, option(0), allow],
    [
      'allows the suggested rule for the session',
      'claude',
      bash,
      option(1),
      { ...allow, updatedPermissions: [{ ...suggestion, destination: 'session' }] },
    ],
    ['denies', 'claude', bash, option(2), deny('The user denied this call.')],
    ['denies for a reason', 'claude', bash, other('Not today'), deny('Not today')],
    ['allows once', 'codex', codexBash, option(0), allow],
    ['denies', 'codex', codexBash, option(1), deny('The user denied this call.')],
    ['has the answers', 'claude', question, option(1), { ...allow, updatedInput: updated('Redis') }],
    ['has an own answer', 'claude', question, other('SQLite'), { ...allow, updatedInput: updated('SQLite') }],
    [
      'approves a plan',
      'claude',
      granting,
      decide('APPROVE'),
      { ...allow, updatedInput: granting.tool_input },
    ],
    [
      'requests changes',
      'claude',
      plan,
      decide('REQUEST_CHANGES', 'Keep the copy'),
      deny('The user requests changes to the plan: Keep the copy'),
    ],
    ['rejects a plan', 'claude', plan, decide('REJECT'), deny('The user rejected the plan.')],
  ])('%s (%s)', async (what, agent, body, given, decision) => {
    const userId = `decides ${what} ${agent}`;
    const { reply, id } = await duringWait(userId, body, (id) => answer(gateway, userId, { id, ...given }), {
      agent,
    });

    expect(reply.status).toBe(200);
    expect(reply.decision).toEqual(decision);
    expect(await readRequest(userId, id)).toMatchObject({ receipt: { outcome: 'ACCEPTED' } });
  });

  test('is asked for with what the call does, complete, and with the rule verbatim', async () => {
    const allowOnce = (id: string) => answer(gateway, 'shown', { id, ...option(0) });
    const { request } = await duringWait('shown', bash, allowOnce);

    const options = [
      { label: 'Allow once', preview: JSON.stringify(bash.tool_input, null, 2) },
      { label: 'Allow for this session', preview: 'Bash(npm test *)' },
      { label: 'Deny', description: expect.stringContaining('text of your own'), preview: null },
    ];
    expect(request).toMatchObject({
      id: expect.stringMatching(/^task-1:hook\./),
      title: 'Allow Bash?',
      task: { id: 'task-1', projectId: 'web-shop' },
      payload: { questions: [{ question: 'Allow Bash?', options }] },
    });
  });

  test.each([
    ['the questions', question, option(0), { title: asked, payload: question.tool_input }],
    [
      'the plan and all beside it',
      granting,
      decide('APPROVE'),
      {
        title: 'Approve the plan?',
        planPayload: {
          summary: 'Move the cart to the database',
          plan: granting.tool_input.plan,
          input: { summary: 'Move the cart to the database', ...granting.tool_input },
        },
      },
    ],
  ])('is asked for with %s as they are', async (what, body, given, shown) => {
    const userId = `asked ${what}`;
    const { request } = await duringWait(userId, body, (id) => answer(gateway, userId, { id, ...given }));
    expect(request).toMatchObject(shown);
  });
});

describe('an unanswered call', () => {
  test.each([
    ['prompt', { status: 200, text: '' }],
    [
      'deny',
      {
        decision: { behavior: 'deny', message: 'There is no answer yet. This is not a refusal by the user.' },
      },
    ],
  ])('with unanswered=%s is withdrawn after the wait', async (unanswered, expected) => {
    const userId = `unanswered-${unanswered}`;
    const [reply, [{ id }]] = await Promise.all([
      sendHook(gateway, bash, { userId, unanswered, wait: '1' }),
      awaitOpen(gateway, userId),
    ]);

    expect(reply).toMatchObject(expected);
    await expectWithdrawn(userId, id);
  });

  test('ends when the request expires', async () => {
    const { reply } = await duringWait('expires', bash, (id) => makeExpired(gateway.database, 'expires', id));

    expect(reply).toEqual({ status: 200, text: '' });
  });

  test('is withdrawn when the agent disconnects', async () => {
    const leaving = new AbortController();
    const reply = sendHook(gateway, bash, { userId: 'leaves', call: '1' }, { signal: leaving.signal });
    const [{ id }] = await awaitOpen(gateway, 'leaves');

    leaving.abort();

    await expect(reply).rejects.toThrow('aborted');
    await expectWithdrawn('leaves', id);
  });

  test('ends before the token expires', async () => {
    const exp = Math.ceil(Date.now() / 1000) + 2;
    const token = await signTaskToken('expiring', 'task-1', { exp });

    const reply = await sendHook(gateway, bash, { unanswered: 'deny', wait: '55' }, { token });

    expect(reply.decision).toMatchObject({ behavior: 'deny' });
    expect(await listOpen(gateway, 'expiring')).toEqual([]);
  });

  test('of a caller that repeats the call stays open, and is answered once', async () => {
    const repeated = { userId: 'repeats', call: 'call-1', wait: '0' };
    expect(await sendHook(gateway, bash, repeated)).toEqual({ status: 202, text: '' });
    expect(await sendHook(gateway, bash, repeated)).toEqual({ status: 202, text: '' });
    const [{ id }] = await awaitOpen(gateway, 'repeats');
    await answer(gateway, 'repeats', { id, ...option(0) });

    const replies = await Promise.all([1, 2, 3].map(() => sendHook(gateway, bash, repeated)));

    expect(replies.filter(({ decision }) => decision?.behavior === 'allow')).toHaveLength(1);
    expect(replies.filter(({ status, text }) => status === 200 && text === '')).toHaveLength(2);
  });
});

describe('an event after a call', () => {
  const endOfSession = ({ session_id }: typeof bash) => ({ session_id, hook_event_name: 'SessionEnd' });
  const events: [string, string, object, object][] = [
    ['its end', 'claude', bash, { ...bash, hook_event_name: 'PostToolUse', tool_use_id: 't' }],
    ['its failure', 'claude', bash, { ...bash, hook_event_name: 'PostToolUseFailure', tool_use_id: 't' }],
    ['the end of the question', 'claude', question, recordedBody('claude', 'AskUserQuestion', 'PostToolUse')],
    ['the end of the plan', 'claude', plan, recordedBody('claude', 'ExitPlanMode', 'PostToolUse')],
    ['the end of the session', 'claude', bash, endOfSession(bash)],
    ['its end', 'codex', codexBash, recordedBody('codex', 'Bash', 'PostToolUse')],
    ['the end of the session', 'codex', codexBash, endOfSession(codexBash)],
  ];

  test.each(events)('%s (%s) withdraws its request, and only this', async (what, agent, body, event) => {
    const userId = `after ${what} ${agent}`;
    const elsewhere = [
      sendHook(gateway, { ...body, session_id: 'another' }, { userId, agent, wait: '1' }),
      sendHook(gateway, body, { userId, agent, taskId: 'another', wait: '1' }),
    ];
    await awaitOpen(gateway, userId, 2);
    const reply = sendHook(gateway, body, { userId, agent });
    await awaitOpen(gateway, userId, 3);

    expect(await sendHook(gateway, event, { userId, agent })).toEqual({ status: 200, text: '' });

    expect(await reply).toEqual({ status: 200, text: '' });
    const stored = await listEvents(gateway.database, userId);
    expect(stored.filter((one) => one.startsWith('withdrawn'))).toHaveLength(1);
    await Promise.all(elsewhere);
  });
});

describe('equal calls', () => {
  test('are asked about each time, and an answer serves one of them', async () => {
    const first = await duringWait('equal', bash, (id) => answer(gateway, 'equal', { id, ...option(0) }));
    const second = await duringWait('equal', bash, (id) => answer(gateway, 'equal', { id, ...option(2) }));

    expect([first, second].map(({ reply }) => reply.decision?.behavior)).toEqual(['allow', 'deny']);
    expect(first.request.id).not.toBe(second.request.id);
  });

  test('at once are asked about separately', async () => {
    const replies = [1, 2].map(() => sendHook(gateway, bash, { userId: 'parallel' }));
    const open = await awaitOpen(gateway, 'parallel', 2);
    await answer(gateway, 'parallel', { id: open[0].id, ...option(0) });
    await answer(gateway, 'parallel', { id: open[1].id, ...option(2) });

    const behaviors = (await Promise.all(replies)).map(({ decision }) => decision?.behavior);
    expect(behaviors.sort()).toEqual(['allow', 'deny']);
  });
});
