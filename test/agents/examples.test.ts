import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { MockLanguageModelV4 } from 'ai/test';
import { expect, test, vi } from 'vitest';
import { awaitOpen } from '../support/agents.ts';
import { useGateway } from '../support/gateway.ts';
import { answer, answers } from '../support/requests.ts';
import { signTaskToken } from '../support/tokens.ts';

const gateway = useGateway();

const environment = async (userId: string) => ({
  GATEWAY_URL: gateway.address,
  TASK_TOKEN: await signTaskToken(userId, 'task-1'),
  USER_ID: userId,
  TASK_ID: 'task-1',
  PROJECT_ID: 'web-shop',
});

test('the script with curl prints the answer to its question', async () => {
  const script = spawn('sh', ['examples/agent/curl.sh'], {
    env: { PATH: process.env.PATH, ...(await environment('curl')) },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = text(script.stdout);
  const [{ id }] = await awaitOpen(gateway, 'curl');

  await answer(gateway, 'curl', { id, ...answers.second });

  expect(await once(script, 'exit')).toEqual([0, null]);
  const request = { state: 'ANSWERED', answer: { questions: [{ labels: ['Redis'], other: null }] } };
  expect(JSON.parse(await output)).toEqual({ data: { request } });
  const { request: acknowledged } = await gateway.as('curl').notification({ id });
  expect(acknowledged).toMatchObject({ receipt: { outcome: 'ACCEPTED' } });
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
