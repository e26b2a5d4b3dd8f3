import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { execPath } from 'node:process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { signTaskToken } from '../support/tokens.ts';

test('the example of an agent publishes a plan, gets "request changes", publishes again, and gets "approve"', async () => {
  const gateway = await startTestGateway();
  const agent = spawn(execPath, ['examples/agent/run-task.ts'], {
    env: {
      GATEWAY_URL: gateway.address,
      TASK_TOKEN: await signTaskToken('alice', 'task/1'),
      USER_ID: 'alice',
      TASK_ID: 'task/1',
      PROJECT_ID: 'web-shop',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const output = text(agent.stdout);
  const exited = once(agent, 'exit');

  const answer = async (number: number, plan: object) => {
    const id = `task%2F1:plan-${number}`;
    return eventually(async () => {
      const result = await gateway.as('alice').answer({ id, answerId: `answer-${number}`, plan });
      expect(result.__typename).toBe('AnswerStored');
    });
  };
  await answer(1, { decision: 'REQUEST_CHANGES', feedback: 'Keep the session copy for a week' });
  await answer(2, { decision: 'APPROVE' });

  expect(await exited).toEqual([0, null]);
  expect(await output).toBe(
    'Plan 1: REQUEST_CHANGES: Keep the session copy for a week\nPlan 2: APPROVE\nCarrying out the plan.\n',
  );
  const { nodes } = await gateway.as('alice').notifications();
  const accepted = { status: 'RESOLVED', request: { state: 'ANSWERED', receipt: { outcome: 'ACCEPTED' } } };
  expect(nodes).toMatchObject([
    { ...accepted, id: 'task%2F1:plan-2', payload: { plan: expect.stringContaining('3. Keep the session') } },
    { ...accepted, id: 'task%2F1:plan-1' },
  ]);
  await gateway.close();
});
