import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { type Kind, payloads, publish } from '../support/records.ts';

const gateway = useGateway();
const { as } = gateway;

async function readOne(userId: string) {
  const { body } = await as(userId).rest.get('/user/notifications');
  expect(body.notifications).toHaveLength(1);
  return body.notifications[0];
}

const question = { question: 'Which?', options: [{ label: 'A' }] };
const completeQuestion = {
  question: 'Which?',
  options: [{ label: 'A', description: 'The first', preview: '<a>' }],
  header: 'Choice',
  id: 'q1',
  multiSelect: false,
};
const { id: questionId, ...others } = completeQuestion;
const questionByGraphQL = { ...others, questionId };
const result = {
  taskStatus: 'AWAITING_INPUT',
  message: 'Done',
  messageLabel: 'Agent',
  messageTimestamp: 'yesterday',
};
const resultOnWire = {
  task_status: 'awaiting_input',
  message: 'Done',
  message_label: 'Agent',
  message_timestamp: 'yesterday',
};

/** For each kind: a minimal payload and its wire form, a complete payload and its wire form. */
const kinds: [
  kind: Kind,
  minimal: object,
  minimalOnWire: object,
  complete: object,
  completeOnWire: object,
][] = [
  [
    'plan_requested',
    payloads.plan_requested,
    {
      tool_id: 'tool-1',
      summary: 'In short',
      plan: '1. Do it',
      input: { summary: 'In short', plan: '1. Do it' },
    },
    { planRequested: { toolId: 't', input: { summary: '', plan: '', more: [null] } } },
    { tool_id: 't', summary: '', plan: '', input: { summary: '', plan: '', more: [null] } },
  ],
  [
    'question_requested',
    { questionRequested: { toolId: 't', input: { questions: [question] } } },
    { tool_id: 't', input: { questions: [question] } },
    {
      questionRequested: {
        toolId: 't',
        input: { questions: [completeQuestion, { ...question, multiSelect: null }], more: {} },
      },
    },
    { tool_id: 't', input: { questions: [completeQuestion, { ...question, multiSelect: null }], more: {} } },
  ],
  [
    'task_failed',
    { taskFailed: { taskStatus: 'ERRORED' } },
    { task_status: 'errored', message_timestamp: null },
    { taskFailed: result },
    resultOnWire,
  ],
  [
    'task_response_ready',
    { taskResponseReady: { taskStatus: 'ERRORED' } },
    { task_status: 'errored', message_timestamp: null },
    { taskResponseReady: result },
    resultOnWire,
  ],
];

test.each(kinds)(
  '%s without optional values: nullable fields are null, optional fields are omitted',
  async (...row) => {
    const [kind, payload, payloadOnWire] = row;
    const user = `minimal-${kind}`;
    const { id } = await publish(gateway, user, kind, { payload, task: { id: 't', projectId: 'p' } });

    expect(await readOne(user)).toStrictEqual({
      id,
      kind,
      status: 'active',
      task: { id: 't', project_id: 'p', workspace_id: null },
      title: 'A title',
      payload: payloadOnWire,
      occurred_at: expect.any(String),
      created_at: expect.any(String),
      updated_at: expect.any(String),
      dismissed_at: null,
      resolved_at: null,
      pr_url: null,
      preview_text: null,
      project_repo_url: null,
    });
  },
);

test.each(kinds)('%s with all optional values returns all of them', async (...row) => {
  const [kind, , , payload, payloadOnWire] = row;
  const user = `complete-${kind}`;
  const { id } = await publish(gateway, user, kind, {
    payload,
    id: `id-${kind}`,
    title: '',
    task: { id: 't', projectId: 'p', name: 'Task', workspaceId: 'w' },
    occurredAt: '2026-01-31T09:30:00Z',
    previewText: 'Preview',
    prUrl: 'https://git.example/pr/1',
    projectName: 'Project',
    projectRepoUrl: 'https://git.example/repo',
  });

  const notification = await readOne(user);
  expect(notification).toStrictEqual({
    id,
    kind,
    status: 'active',
    task: { id: 't', project_id: 'p', name: 'Task', workspace_id: 'w' },
    title: '',
    payload: payloadOnWire,
    occurred_at: '2026-01-31T09:30:00.000Z',
    created_at: expect.any(String),
    updated_at: notification.created_at,
    dismissed_at: null,
    resolved_at: null,
    pr_url: 'https://git.example/pr/1',
    preview_text: 'Preview',
    project_name: 'Project',
    project_repo_url: 'https://git.example/repo',
  });
});

test('each kind has its own type in the union, and all implement the interface', async () => {
  for (const [kind, , , payload] of kinds) await publish(gateway, 'union', kind, { payload });

  const { data } = await as('union').graphql(`{ notifications { nodes {
    __typename
    ... on UserNotification { kind status title task { id projectId name workspaceId } }
    ... on PlanRequestedNotification { plan: payload { toolId summary plan input } }
    ... on QuestionRequestedNotification { question: payload {
      toolId input questions { question header questionId multiSelect options { label description preview } }
    } }
    ... on TaskFailedNotification { failed: payload { taskStatus message messageLabel messageTimestamp } }
    ... on TaskResponseReadyNotification { ready: payload { taskStatus message } }
  } } }`);

  const questions = [
    questionByGraphQL,
    {
      ...question,
      header: null,
      questionId: null,
      multiSelect: null,
      options: [{ label: 'A', description: null }],
    },
  ];
  expect(data.notifications.nodes.toReversed()).toMatchObject([
    {
      __typename: 'PlanRequestedNotification',
      kind: 'PLAN_REQUESTED',
      status: 'ACTIVE',
      plan: { toolId: 't', summary: '', plan: '', input: { summary: '', plan: '', more: [null] } },
    },
    { __typename: 'QuestionRequestedNotification', question: { questions } },
    { __typename: 'TaskFailedNotification', failed: result },
    {
      __typename: 'TaskResponseReadyNotification',
      ready: { taskStatus: 'AWAITING_INPUT', message: 'Done' },
    },
  ]);
});
