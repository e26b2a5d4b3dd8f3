import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { awaitOpen, listOpen } from '../support/agents.ts';
import { beginTransaction } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { answer, answers, makeExpired } from '../support/requests.ts';
import { member, platform, signTaskToken } from '../support/tokens.ts';

const gateway = useGateway();

const versions = ['2025-11-25', '2026-07-28'];
const opened: Client[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((client) => client.close()));
});

/** Connects the official client by a version of the protocol, with the token of a task. */
async function connect(
  userId: string,
  { version = '2026-07-28', taskId = 'task-1', at = gateway, query = '?project=web-shop', token = '' } = {},
) {
  const mode = version === '2026-07-28' ? ({ pin: version } as const) : 'legacy';
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
  const Authorization = `Bearer ${token || (await signTaskToken(userId, taskId))}`;
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${at.address}/mcp${query}`), {
      requestInit: { headers: { Authorization } },
    }),
  );
  opened.push(client);
  return client;
}

const Answer = z.strictObject({
  question: z.string(),
  options: z.array(z.string()),
  text: z.string().nullable(),
});
const Result = z.strictObject({
  status: z.enum(['answered', 'pending', 'expired', 'withdrawn', 'sent']),
  request_id: z.string(),
  next: z.string().min(1),
  answers: z.array(Answer).optional(),
  decision: z.string().optional(),
  text: z.string().nullable().optional(),
});

/** Calls a tool, and returns its structured result, which its text repeats. */
async function call(client: Client, name: string, input: object, options = {}) {
  const called = { name, arguments: { ...input } };
  const { structuredContent, content, isError } = await client.callTool(called, options);
  expect(isError, JSON.stringify(content)).toBeFalsy();
  expect(content).toEqual([{ type: 'text', text: JSON.stringify(structuredContent) }]);
  return Result.parse(structuredContent);
}

async function refuse(client: Client, name: string, input: object): Promise<string> {
  const { content, isError } = await client.callTool({ name, arguments: { ...input } });
  expect(isError).toBe(true);
  return JSON.stringify(content);
}

const choice = {
  question: 'Which database should the cart use?',
  options: [{ label: 'PostgreSQL', description: 'The one that orders use' }, { label: 'Redis' }],
};
/** What asks without waiting. */
const unanswered = { questions: [choice], wait_seconds: 0 };
const freeText = { question: 'What should the page be called?' };
const plan = { summary: 'Move the cart', plan: '1. Add a table' };

describe.each(versions)('by version %s of the protocol', (version) => {
  test('tools have descriptions, and schemas of their arguments and results', async () => {
    const client = await connect('lists', { version });

    const { tools } = await client.listTools();

    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(tools.map(({ name }) => name)).toEqual([
      'ask_human',
      'propose_plan',
      'check_request',
      'withdraw_request',
      'notify_user',
    ]);
    for (const { description = '', inputSchema, outputSchema } of tools) {
      expect(description.length).toBeGreaterThan(50);
      expect(inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(outputSchema).toMatchObject({ type: 'object', required: ['status', 'request_id', 'next'] });
    }
  });

  test('ask_human returns the answers to its questions', async () => {
    const userId = `asks ${version}`;
    const client = await connect(userId, { version });
    const progress: number[] = [];
    const onprogress = (sent: { progress: number }) => progress.push(sent.progress);
    const reply = call(client, 'ask_human', { questions: [choice, freeText] }, { onprogress });
    const [{ id, title, task, payload }] = await awaitOpen(gateway, userId);
    expect(title).toBe(choice.question);
    expect(task).toEqual({ id: 'task-1', projectId: 'web-shop' });
    expect(payload.questions).toMatchObject([choice, { ...freeText, options: [] }]);

    await answer(gateway, userId, {
      id,
      questions: [
        { index: 0, options: [1] },
        { index: 1, options: [], other: 'Basket' },
      ],
    });

    expect(await reply).toMatchObject({
      status: 'answered',
      request_id: id,
      answers: [
        { question: choice.question, options: ['Redis'], text: null },
        { question: freeText.question, options: [], text: 'Basket' },
      ],
    });
    expect(progress).toEqual([0]);
    const { request } = await gateway.as(userId).notification({ id });
    expect(request).toMatchObject({ receipt: { outcome: 'ACCEPTED' } });
  });

  test('propose_plan returns the decision', async () => {
    const userId = `plans ${version}`;
    const reply = call(await connect(userId, { version }), 'propose_plan', plan);
    const [{ id, planPayload }] = await awaitOpen(gateway, userId);
    expect(planPayload).toEqual({ ...plan, input: plan });

    await answer(gateway, userId, { id, ...answers.reject });

    expect(await reply).toMatchObject({ status: 'answered', decision: 'reject', text: 'Too large' });
  });

  test('an unanswered request is pending, and check_request returns the answer, as often as it is called', async () => {
    const userId = `checks ${version}`;
    const client = await connect(userId, { version });
    const pending = await call(client, 'ask_human', unanswered);
    expect(pending).toMatchObject({ status: 'pending', next: expect.stringContaining('check_request') });
    const input = { request_id: pending.request_id };
    const waiting = call(client, 'check_request', input);

    await answer(gateway, userId, { id: pending.request_id, ...answers.first });

    const answered = { status: 'answered', answers: [{ options: ['PostgreSQL'] }] };
    expect(await waiting).toMatchObject(answered);
    expect(await call(client, 'check_request', input)).toMatchObject(answered);
  });

  test('expired and withdrawn requests are neither answered nor refused', async () => {
    const userId = `settles ${version}`;
    const client = await connect(userId, { version });
    const expired = await call(client, 'ask_human', unanswered);
    await makeExpired(gateway.database, userId, expired.request_id);
    expect(await call(client, 'check_request', { request_id: expired.request_id })).toMatchObject({
      status: 'expired',
      next: expect.stringContaining('not a no'),
    });

    const { request_id } = await call(client, 'ask_human', unanswered);
    expect((await call(client, 'withdraw_request', { request_id })).status).toBe('withdrawn');
    expect(await listOpen(gateway, userId)).toEqual([]);
  });

  test('notify_user tells the user, and check_request returns a reply', async () => {
    const userId = `notifies ${version}`;
    const client = await connect(userId, { version });
    const notify = (outcome: string, title: string) =>
      call(client, 'notify_user', { outcome, title, message: 'See the branch.' });
    const { request_id: done } = await notify('done', 'Moved the cart');
    const { request_id: failed } = await notify('failed', 'No disk space');
    await answer(gateway, userId, { id: done, ...answers.reply });

    expect(await call(client, 'check_request', { request_id: done })).toMatchObject({ text: 'Go on' });
    expect(await refuse(client, 'check_request', { request_id: failed })).toContain('no such request');
    expect((await gateway.as(userId).notifications()).nodes).toMatchObject([
      { title: 'No disk space', kind: 'TASK_FAILED' },
      { title: 'Moved the cart', kind: 'TASK_RESPONSE_READY' },
    ]);
  });

  test('a call that is cut withdraws its request', async () => {
    const userId = `cuts ${version}`;
    const client = await connect(userId, { version });
    const cut = new AbortController();
    const asking = { name: 'ask_human', arguments: { questions: [choice] } };
    const reply = client.callTool(asking, { signal: cut.signal });
    const [{ id }] = await awaitOpen(gateway, userId);

    cut.abort();
    await client.close();

    await expect(reply).rejects.toThrow();
    await eventually(async () =>
      expect((await gateway.as(userId).notification({ id })).request?.state).toBe('WITHDRAWN'),
    );
  });
});

test('a check that is cut leaves the answer to the next one', async () => {
  const client = await connect('returns');
  const { request_id } = await call(client, 'ask_human', unanswered);
  await answer(gateway, 'returns', { id: request_id, ...answers.first });
  const countReplies = () => gateway.logLines().filter((line) => line.includes('"/mcp"')).length;
  const before = countReplies();
  const locker = await beginTransaction(gateway.database, 'lock table notification');
  const cut = new AbortController();
  const check = { name: 'check_request', arguments: { request_id } };
  const onprogress = () => cut.abort();
  await expect(client.callTool(check, { signal: cut.signal, onprogress })).rejects.toThrow();
  await client.close();
  await eventually(() => expect(countReplies()).toBeGreaterThan(before));
  await locker.query('rollback');

  const next = await call(await connect('returns'), 'check_request', { request_id });
  expect(next.status).toBe('answered');
  const { request } = await gateway.as('returns').notification({ id: request_id });
  expect(request).toMatchObject({ receipt: { outcome: 'ACCEPTED' } });
});

describe('errors are results that say what to do', () => {
  test.each<[string, string, object, string]>([
    ['arguments', 'ask_human', { questions: [] }, 'must have a question'],
    [
      'an unknown argument',
      'ask_human',
      { questions: [choice], user_id: 'victim' },
      'arguments.user_id is not a known property',
    ],
    ['another type', 'propose_plan', { summary: 1, plan: 'x' }, 'must be a string'],
    ['a plan that is too large', 'propose_plan', { ...plan, plan: 'x'.repeat(65_536) }, 'must have at most'],
    ['text that cannot be stored', 'ask_human', { questions: [{ question: 'a\u0000b' }] }, 'U+0000'],
    ['a request that does not exist', 'check_request', { request_id: 'other:1' }, 'no such request'],
    ['an ID that cannot exist', 'check_request', { request_id: 'a\u0000b' }, 'control characters'],
    ['a tool that does not exist', 'delete_everything', {}, 'no such request or tool'],
  ])('for %s', async (_what, tool, input, message) => {
    expect(await refuse(await connect('errs'), tool, input)).toContain(message);
    expect(await listOpen(gateway, 'errs')).toEqual([]);
  });

  test('for 20 open requests, and for a used-up rate', async () => {
    const client = await connect('busy');
    for (let count = 0; count < 20; count += 1) await call(client, 'ask_human', unanswered);
    expect(await refuse(client, 'ask_human', unanswered)).toMatch(/20 open requests.*Withdraw one, or wait/);

    const limited = await startTestGateway({ RATE_LIMIT_TASKS_PER_MINUTE: '3' }, gateway.database);
    const hasty = await connect('hasty', { at: limited });
    for (let count = 0; count < 2; count += 1) await call(hasty, 'ask_human', unanswered);
    const third = hasty.callTool({ name: 'ask_human', arguments: unanswered });
    await expect(third).rejects.toThrow('Too many requests');
    await limited.close();
  });

  test('for 200 answered requests', async () => {
    const client = await connect('full');
    const { request_id: id } = await call(client, 'ask_human', unanswered);
    await answer(gateway, 'full', { id, ...answers.first });
    await gateway.database.sql(
      `insert into notification select (jsonb_populate_record(t, jsonb_build_object('id', id || n))).*
         from notification t, generate_series(1, 199) n where user_id = 'full'`,
    );
    expect(await refuse(client, 'ask_human', unanswered)).toMatch(/200 notifications.* hour\.\W+$/);
  });

  test('for a request of another task or user, and a project that nobody names', async () => {
    const { request_id } = await call(await connect('owner'), 'ask_human', unanswered);
    const other = await connect('owner', { taskId: 'task-2' });
    const stranger = await connect('stranger');
    for (const client of [other, stranger])
      for (const tool of ['check_request', 'withdraw_request'])
        expect(await refuse(client, tool, { request_id })).toContain('no such request');
    expect(await listOpen(gateway, 'owner')).toHaveLength(1);

    const homeless = await connect('homeless', { query: '' });
    expect(await refuse(homeless, 'propose_plan', plan)).toContain('query.project is required');
  });
});

describe('a message', () => {
  const post = async (body: unknown, token: string | undefined, headers = {}, method = 'POST') =>
    fetch(`${gateway.address}/mcp`, {
      method,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...(token && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

  const ofTask = () => signTaskToken('alice', 't');
  test.each([
    ['without a token', list, undefined, 401],
    ['with the token of a user', list, () => member('alice'), 403],
    ['with the token of a service', list, platform, 403],
    ['that is not JSON', '{', ofTask, 400],
    ['in a batch', [list, list], ofTask, 400],
    ['of another type', list, ofTask, 400, { 'Content-Type': 'text/plain' }],
    ['of a megabyte', { ...list, params: { x: 'x'.repeat(1_048_576) } }, ofTask, 400],
    ['beyond what can be shown', { ...list, params: { x: 'x'.repeat(131_072) } }, ofTask, 400],
    ['of many values', { ...list, params: { x: Array.from({ length: 2500 }, () => ({})) } }, ofTask, 400],
    ['to open a stream', undefined, ofTask, 405, {}, 'GET'],
    ['to end a session', undefined, ofTask, 405, {}, 'DELETE'],
  ])('%s is refused', async (_what, body, token, status, headers = {}, method = 'POST') => {
    const reply = await post(body, await token?.(), headers, method);

    expect(reply.status).toBe(status);
    await reply.text();
  });

  test('by TRACE is refused', async () => {
    const token = await signTaskToken('alice', 't');
    expect(
      await sendRaw(gateway, rawRequest('TRACE /mcp', [`Authorization: Bearer ${token}`])),
    ).toMatchObject({ status: 405 });
  });

  test('that subscribes is refused, so that no stream stays open', async () => {
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const method = 'subscriptions/listen';
    const params = { _meta: meta, notifications: { toolsListChanged: true } };
    const headers = { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': method };
    const reply = await post({ ...list, method, params }, await signTaskToken('alice', 't'), headers);

    expect(await reply.text()).toMatch(/"error":.*limit/i);
  });

  test('needs no session, and sets no cookie', async () => {
    const reply = await post(list, await signTaskToken('alice', 't'));

    expect(reply.status).toBe(200);
    expect(await reply.text()).toContain('ask_human');
    expect([...reply.headers.keys()].filter((name) => /cookie|session/.test(name))).toEqual([]);
  });
});
