import { writeFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { awaitOpen, recorded, recordedBody } from '../support/agents.ts';
import { runHook, tokenFile } from '../support/documented-hooks.ts';
import { useGateway } from '../support/gateway.ts';
import { answer, answers, makeExpired, readNotification } from '../support/requests.ts';
import { signTaskToken } from '../support/tokens.ts';

/* The configurations of docs/agents.md, pasted and run as the agents run them, with the bodies that were recorded. */

const gateway = useGateway();

const asked = (agent: string) =>
  recorded(agent).filter(({ hook_event_name: name }) => name === 'PermissionRequest');
const cases = [
  ...asked('claude').map((body) => ['claude', body] as const),
  ...asked('codex').map((body) => ['codex', body] as const),
];

test.each(cases)('the configuration for %s gets the answer to each recorded body', async (agent, body) => {
  const userId = `${agent}-${body.tool_name}`;
  const token = await signTaskToken(userId, 'task-1');
  const ran = runHook(gateway, agent, body, token);
  const [{ id, task }] = await awaitOpen(gateway, userId);
  expect(task.projectId).toBe('web-shop');

  await answer(gateway, userId, {
    id,
    ...(body.tool_name === 'ExitPlanMode' ? answers.approve : answers.first),
  });

  const { status, output } = await ran;
  expect(status).toBe(0);
  expect(JSON.parse(output).hookSpecificOutput.decision.behavior).toBe('allow');
  for (const event of recorded(agent).filter(({ hook_event_name: name }) => name !== 'PermissionRequest'))
    expect(await runHook(gateway, agent, event, token)).toEqual({ status: 0, output: '', errors: '' });
});

test('ask.sh repeats the call with the current token until there is an answer, or the request has expired', async () => {
  const exp = Math.ceil(Date.now() / 1000) + 3;
  for (const [userId, settle, output] of [
    ['patient', (id: string) => answer(gateway, 'patient', { id, ...answers.first }), /"allow"/],
    ['late', (id: string) => makeExpired(gateway.database, 'late', id), /^$/],
  ] as const) {
    const ran = runHook(
      gateway,
      'codex',
      recordedBody('codex', 'Bash'),
      await signTaskToken(userId, 'task-1', { exp }),
    );
    const [{ id }] = await awaitOpen(gateway, userId);
    await writeFile(tokenFile, await signTaskToken(userId, 'task-1'));
    while (Date.now() < exp * 1000 + 500) await readNotification(gateway, userId, id);

    await settle(id);

    expect(await ran).toMatchObject({ status: 0, output: expect.stringMatching(output) });
  }
});

test('ask.sh denies without a valid reply if it is told to, and otherwise leaves the decision to the agent', async () => {
  const body = recordedBody('codex', 'Bash');

  expect(await runHook(gateway, 'codex', body, 'invalid')).toEqual({ status: 0, output: '', errors: '' });
  for (const changes of [
    (command: string) => `${command} deny`,
    (command: string) => `${command.replace(gateway.address, 'http://127.0.0.1:1')} deny`,
  ])
    expect(await runHook(gateway, 'codex', body, 'invalid', changes)).toMatchObject({
      status: 2,
      output: '',
      errors: expect.stringContaining('This is not a refusal by the user.'),
    });
});
