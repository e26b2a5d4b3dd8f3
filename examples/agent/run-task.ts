/*
 * A task that asks its user to approve a plan, revises the plan as often as the user requests changes, and then carries
 * it out. Needs the URL of the gateway, a task token, and the IDs of its user, its task and its project.
 */
import { env, exit, stdout } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';

const { GATEWAY_URL, TASK_TOKEN, USER_ID, TASK_ID = '', PROJECT_ID } = env;

type Reply<Data> = { data: Data; errors?: { message: string }[] };

/** Sends an operation until the gateway replies. Every operation below can be repeated safely. */
async function send<Data>(query: string, variables: object): Promise<Data> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${TASK_TOKEN}` };
  const body = JSON.stringify({ query, variables });
  for (;;) {
    const options = { method: 'POST', headers, body };
    const reply = await fetch(`${GATEWAY_URL}/graphql`, options).catch(() => undefined);
    if (reply !== undefined && reply.status < 500 && reply.status !== 429) {
      const { data, errors }: Reply<Data> = await reply.json();
      if (errors === undefined) return data;
      throw new Error(errors[0]?.message);
    }
    await pause(1000 * Number(reply?.headers.get('Retry-After') ?? 1));
  }
}

type Request = {
  state: 'OPEN' | 'ANSWERED' | 'EXPIRED' | 'WITHDRAWN';
  answer: { plan: { decision: 'APPROVE' | 'REQUEST_CHANGES' | 'REJECT'; feedback: string | null } } | null;
};

/** Publishes a plan, and waits until its request is settled. A task token requires IDs that begin with the task's. */
async function ask(number: number, plan: string): Promise<Request> {
  const notificationId = `${encodeURIComponent(TASK_ID)}:plan-${number}`;
  const payload = {
    planRequested: { toolId: `plan-${number}`, input: { summary: 'Speed up the cart', plan } },
  };
  const task = { id: TASK_ID, projectId: PROJECT_ID };
  const input = {
    userId: USER_ID,
    id: notificationId,
    task,
    title: 'Approve the plan for the cart',
    payload,
  };
  await send(
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }',
    {
      input: { ...input, expiresInSeconds: 24 * 3600 },
    },
  );
  for (;;) {
    const { request } = await send<{ request: Request }>(
      `query ($userId: ID!, $notificationId: ID!) {
        request(userId: $userId, notificationId: $notificationId, waitSeconds: 50) {
          state answer { plan { decision feedback } } } }`,
      { userId: USER_ID, notificationId },
    );
    if (request.state === 'OPEN') continue;
    if (request.answer !== null) {
      const receipt = { userId: USER_ID, notificationId, outcome: 'ACCEPTED' };
      const query =
        'mutation ($input: AcknowledgeAnswerInput!) { acknowledgeAnswer(input: $input) { __typename } }';
      await send(query, { input: receipt });
    }
    return request;
  }
}

let plan = '1. Move the cart to the database\n2. Drop the session copy';
for (let number = 1; ; number += 1) {
  const { state, answer } = await ask(number, plan);
  const { decision = state, feedback = null } = answer?.plan ?? {};
  stdout.write(`Plan ${number}: ${decision}${feedback === null ? '' : `: ${feedback}`}\n`);
  if (decision === 'APPROVE') break;
  if (decision !== 'REQUEST_CHANGES') exit(1);
  plan = `${plan}\n${number + 2}. ${feedback ?? 'Explain each step'}`;
}
stdout.write('Carrying out the plan.\n');
