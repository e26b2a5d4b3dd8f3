import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { beforeAll, describe, expect, test } from 'vitest';
import { awaitOpen } from '../support/agents.ts';
import { useGateway } from '../support/gateway.ts';
import { answer, answers } from '../support/requests.ts';
import { signTaskToken } from '../support/tokens.ts';
import { hasPython, installPython } from './tools.ts';

if (!hasPython) process.stdout.write('langgraph.test.ts: python3 with venv was not found, skipping.\n');

const gateway = useGateway();

describe.skipIf(!hasPython)('the graph of LangGraph', () => {
  let programs: string;
  beforeAll(async () => {
    programs = await installPython('langgraph.txt');
  }, 300_000);

  test.each([
    ['continues when its user allows it', answers.first, 'done'],
    ['stops when its user refuses', answers.second, 'not done'],
  ])('is interrupted, and %s', async (what, given, result) => {
    const userId = `graph ${what}`;
    const graph = spawn(join(programs, 'python'), ['examples/agent/langgraph_agent.py'], {
      env: {
        GATEWAY_URL: gateway.address,
        TASK_TOKEN: await signTaskToken(userId, 'task/1'),
        USER_ID: userId,
        TASK_ID: 'task/1',
        PROJECT_ID: 'web-shop',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const output = text(graph.stdout);
    const [{ id, title }] = await awaitOpen(gateway, userId);
    expect(title).toBe('Run npm publish?');

    await answer(gateway, userId, { id, ...given });

    expect(await once(graph, 'exit')).toEqual([0, null]);
    expect(await output).toBe(`${result}\n`);
  });
});
