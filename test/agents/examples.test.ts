import { execFile, spawn } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test, vi } from 'vitest';
import { awaitOpen, recorded, recordedBody } from '../support/agents.ts';
import { readBlocks, readPage } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { useGateway } from '../support/gateway.ts';
import { captureOutput } from '../support/process.ts';
import { answer, answers, makeExpired } from '../support/requests.ts';
import { member, signTaskToken } from '../support/tokens.ts';

/*
 * The configurations of docs/agents.md, pasted and run as the agents run them, with the bodies that were recorded, and the
 * programs of examples/agent/.
 */

const gateway = useGateway();

type Hook = { type: string; timeout: number; url: string; headers: Record<string, string>; command: string };
type Configuration = { hooks: Record<string, { matcher?: string; hooks: [Hook] }[]> };

/** The commands of docs/agents.md that write the configurations. */
const commands = readBlocks(readPage('docs/agents.md'))
  .map(({ content }) => content)
  .filter((content) => content.includes('{ "hooks"'));

/** Pastes a command in a new folder, which is also the home, and returns the configuration that it wrote there. */
async function paste(command: string, path: string): Promise<Configuration> {
  const folder = await makeFolder();
  const env = { PATH: process.env.PATH, HOME: folder };
  await promisify(execFile)('sh', ['-euc', command], { cwd: folder, env });
  const written = await readFile(join(folder, path), 'utf8');
  await removeFolder(folder);
  return JSON.parse(written);
}

const [claude, codex] = await Promise.all(
  ['.claude/settings.json', '.codex/hooks.json'].map((path, index) => paste(commands[index] ?? '', path)),
);

/** The file from which commands read the token. */
const tokenFile = join(await makeFolder(), 'token');

/**
 * Runs the documented hook of a body as the agent runs it, and returns what it printed, and its exit status. `change`
 * changes the command line.
 */
async function runHook(
  agent: string,
  body: Record<string, unknown>,
  token: string,
  change = (command: string) => command,
) {
  const configuration = agent === 'claude' ? claude : codex;
  const hook = configuration?.hooks[String(body.hook_event_name)]?.find(
    ({ matcher = '.*' }) =>
      body.tool_name === undefined || new RegExp(`^(${matcher})$`).test(String(body.tool_name)),
  )?.hooks[0];
  if (hook === undefined) return expect.unreachable();
  const place = (given: string) => given.replace('https://gateway.example.com', gateway.address);
  if (hook.type === 'http') {
    const headers = Object.entries(hook.headers).map(([name, value]) => [
      name,
      value.replace('$TASK_TOKEN', token),
    ]);
    const response = await fetch(place(hook.url), {
      method: 'POST',
      headers: { ...Object.fromEntries(headers), 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.ok ? 0 : response.status, output: await response.text(), errors: '' };
  }
  await writeFile(tokenFile, token);
  const command = place(hook.command)
    .replace('~/ask.sh', 'examples/agent/hooks/ask.sh')
    .replace('~/.task-token', tokenFile);
  const child = spawn('sh', ['-c', change(command)], { stdio: 'pipe' });
  child.stdin.end(JSON.stringify(body));
  const [output, errors, status] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  return { status, output, errors };
}

const asked = (agent: string) =>
  recorded(agent).filter(({ hook_event_name: name }) => name === 'PermissionRequest');
const cases = ['claude', 'codex'].flatMap((agent) => asked(agent).map((body) => [agent, body] as const));

test.each(cases)('the configuration for %s gets the answer to each recorded body', async (agent, body) => {
  const userId = `${agent}-${body.tool_name}`;
  const token = await signTaskToken(userId, 'task-1');
  const ran = runHook(agent, body, token);
  const [{ id, task }] = await awaitOpen(gateway, userId);
  expect(task.projectId).toBe('web-shop');

  const given = body.tool_name === 'ExitPlanMode' ? answers.approve : answers.first;
  await answer(gateway, userId, { id, ...given });

  const { status, output } = await ran;
  expect(status).toBe(0);
  expect(JSON.parse(output).hookSpecificOutput.decision.behavior).toBe('allow');
  for (const event of recorded(agent).filter(({ hook_event_name: name }) => name !== 'PermissionRequest'))
    expect(await runHook(agent, event, token)).toEqual({ status: 0, output: '', errors: '' });
});

test('ask.sh repeats the call with the current token until there is an answer, or the request has expired', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 3;
  for (const [userId, settle, output] of [
    ['patient', (id: string) => answer(gateway, 'patient', { id, ...answers.first }), /"allow"/],
    ['late', (id: string) => makeExpired(gateway.database, 'late', id), /^$/],
  ] as const) {
    const ran = runHook(
      'codex',
      recordedBody('codex', 'Bash'),
      await signTaskToken(userId, 'task-1', { exp }),
    );
    const [{ id }] = await awaitOpen(gateway, userId);
    await writeFile(tokenFile, await signTaskToken(userId, 'task-1'));
    while (Date.now() < exp * 1000 + 500) await gateway.as(userId).notification({ id });

    await settle(id);

    expect(await ran).toMatchObject({ status: 0, output: expect.stringMatching(output) });
  }
});

test.each<
  [problem: string, token: () => Promise<string>, change: (command: string) => string, reason: string]
>([
  [
    'without a task token',
    () => member('alice'),
    (command) => command,
    'This operation requires a token with the scope "platform:task".',
  ],
  [
    'with a misspelled parameter',
    () => signTaskToken('alice', 'task-1'),
    (command) => command.replace('expires=', 'expire='),
    'Invalid request: a part of query is not a known parameter; the nearest is expires.',
  ],
  [
    'without a gateway',
    () => signTaskToken('alice', 'task-1'),
    (command) => command.replace(gateway.address, 'http://127.0.0.1:1'),
    'the gateway gave no valid reply.',
  ],
])(
  'ask.sh %s says why nobody was asked, and denies only with `deny`',
  async (_problem, sign, change, reason) => {
    const body = recordedBody('codex', 'Bash');
    const token = await sign();
    for (const [option, status] of [
      ['', 1],
      ['deny', 2],
    ] as const) {
      const ended = await runHook('codex', body, token, (command) => `${change(command)} ${option}`);
      expect(ended).toMatchObject({ status, output: '' });
      expect(ended.errors).toContain(`Nobody was asked: ${reason}`);
      expect(ended.errors).toMatch(/ This is not a refusal by the user\.\n$/);
    }
  },
);

const environment = async (userId: string) => ({
  GATEWAY_URL: gateway.address,
  TASK_TOKEN: await signTaskToken(userId, 'task-1'),
  USER_ID: userId,
  TASK_ID: 'task-1',
  PROJECT_ID: 'web-shop',
});

test('the script with curl prints the answer to its question', async () => {
  const child = spawn('sh', ['examples/agent/curl.sh'], {
    env: { PATH: process.env.PATH, ...(await environment('curl')) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const script = captureOutput(child, 'curl.sh');
  const [{ id }] = await awaitOpen(gateway, 'curl');

  await answer(gateway, 'curl', { id, ...answers.second });

  const { status, stdout } = await script.ended;
  expect(status).toBe(0);
  const request = { state: 'ANSWERED', answer: { questions: [{ labels: ['Redis'], other: null }] } };
  expect(JSON.parse(stdout)).toEqual({ data: { request } });
  const { request: acknowledged } = await gateway.as('curl').notification({ id });
  expect(acknowledged).toMatchObject({ receipt: { outcome: 'ACCEPTED' } });
});

test.each([
  ['a missing variable', { TASK_ID: '' }, 'TASK_ID'],
  ['an ID of another task', { TASK_ID: 'task-2' }, '"errors":['],
])('the script with curl fails with %s, and says so', async (_problem, changes, message) => {
  const child = spawn('sh', ['examples/agent/curl.sh'], {
    env: { PATH: process.env.PATH, ...(await environment('refused')), ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { status, stdout, stderr } = await captureOutput(child, 'curl.sh').ended;
  expect(status).not.toBe(0);
  expect(stdout).toBe('');
  expect(stderr).toContain(message);
});

test('the script with a plan revises it until the user approves', async () => {
  const child = spawn(process.execPath, ['examples/agent/run-task.ts'], {
    env: await environment('reviser'),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const script = captureOutput(child, 'run-task.ts');
  const reviser = gateway.as('reviser');
  const decide = (number: number, plan: object) =>
    eventually(async () => {
      const id = `task-1:plan-${number}`;
      const result = await reviser.answer({ id, answerId: `answer-${number}`, plan });
      expect(result.__typename).toBe('AnswerStored');
    });
  await decide(1, { decision: 'REQUEST_CHANGES', feedback: 'Keep the session copy for a week' });
  await decide(2, { decision: 'APPROVE' });

  expect(await script.ended).toMatchObject({
    status: 0,
    stdout:
      'Plan 1: REQUEST_CHANGES: Keep the session copy for a week\nPlan 2: APPROVE\nCarrying out the plan.\n',
  });
  const accepted = { status: 'RESOLVED', request: { state: 'ANSWERED', receipt: { outcome: 'ACCEPTED' } } };
  expect((await reviser.notifications()).nodes).toMatchObject([
    { ...accepted, payload: { plan: expect.stringContaining('3. Keep the session') } },
    accepted,
  ]);
});

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};
const finish = { usage, warnings: [] };

test.each([
  ['allows it', answers.first, 'web-shop is deployed'],
  ['denies it', { questions: [{ index: 0, options: [], other: 'Not on a Friday' }] }, 'Not on a Friday'],
])('the tool of the AI SDK runs only if the user %s', async (what, given, expected) => {
  const userId = `ai ${what}`;
  for (const [name, value] of Object.entries(await environment(userId))) vi.stubEnv(name, value);
  vi.resetModules();
  const { run } = await import(`../../examples/agent/ai-sdk.ts?${encodeURIComponent(what)}`);
  const model = new MockLanguageModelV4({
    // The model calls the tool, and then repeats what it was told.
    doGenerate: async ({ prompt }) => {
      const told = prompt.findLast(({ role }) => role === 'tool');
      if (told) {
        const content = [{ type: 'text', text: JSON.stringify(told.content) } as const];
        return { ...finish, content, finishReason: { unified: 'stop', raw: 'stop' } };
      }
      const call = {
        type: 'tool-call',
        toolCallId: 'call-1',
        toolName: 'deploy',
        input: '{"service":"web-shop"}',
      } as const;
      return { ...finish, content: [call], finishReason: { unified: 'tool-calls', raw: 'tool-calls' } };
    },
  });
  const ended = run(model, 'Deploy the shop');
  const [{ id, title, payload }] = await awaitOpen(gateway, userId);
  expect(title).toBe('Allow deploy?');
  expect(payload.questions[0].options[0].preview).toContain('"service": "web-shop"');

  await answer(gateway, userId, { id, ...given });

  expect(await ended).toContain(expected);
  vi.unstubAllEnvs();
});
