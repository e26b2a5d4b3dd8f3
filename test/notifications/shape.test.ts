import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { type Kind, publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

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

const minimalPlan = { summary: 'In short', plan: '1. Do it' };
const completePlan = { summary: '', plan: '', more: [null] };
const minimalQuestions = { questions: [question] };
const completeQuestions = { questions: [completeQuestion, { ...question, multiSelect: null }], more: {} };
const minimalResult = { task_status: 'errored', message_timestamp: null };

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
    { planRequested: { toolId: 't', input: minimalPlan } },
    { tool_id: 't', ...minimalPlan, input: minimalPlan },
    { planRequested: { toolId: 't', input: completePlan } },
    { tool_id: 't', summary: '', plan: '', input: completePlan },
  ],
  [
    'question_requested',
    { questionRequested: { toolId: 't', input: minimalQuestions } },
    { tool_id: 't', input: minimalQuestions },
    { questionRequested: { toolId: 't', input: completeQuestions } },
    { tool_id: 't', input: completeQuestions },
  ],
  [
    'task_failed',
    { taskFailed: { taskStatus: 'ERRORED' } },
    minimalResult,
    { taskFailed: result },
    resultOnWire,
  ],
  [
    'task_response_ready',
    { taskResponseReady: { taskStatus: 'ERRORED' } },
    minimalResult,
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
    ... on UserNotification { kind }
    ... on PlanRequestedNotification { plan: payload { toolId summary plan input } }
    ... on QuestionRequestedNotification { question: payload {
      questions { question header questionId multiSelect options { label description preview } }
    } }
    ... on TaskFailedNotification { failed: payload { taskStatus message messageLabel messageTimestamp } }
    ... on TaskResponseReadyNotification { ready: payload { taskStatus message } }
  } } }`);

  const unset = { header: null, questionId: null, multiSelect: null };
  const short = { ...question, ...unset, options: [{ label: 'A', description: null }] };
  const ready = { taskStatus: 'AWAITING_INPUT', message: 'Done' };
  expect(data.notifications.nodes.toReversed()).toMatchObject([
    {
      __typename: 'PlanRequestedNotification',
      kind: 'PLAN_REQUESTED',
      plan: { toolId: 't', summary: '', plan: '', input: completePlan },
    },
    { __typename: 'QuestionRequestedNotification', question: { questions: [questionByGraphQL, short] } },
    { __typename: 'TaskFailedNotification', failed: result },
    { __typename: 'TaskResponseReadyNotification', ready },
  ]);
});

/* The `input` of a payload is foreign JSON. */

/** Reads the input of a user's newest notification over both APIs, as JSON text. */
async function readInputs(userId: string) {
  const { body } = await as(userId).rest.get('/user/notifications?limit=1');
  const { data } = await as(userId).graphql(`{ notifications(first: 1) { nodes {
    ... on PlanRequestedNotification { payload { input } }
    ... on QuestionRequestedNotification { payload { input } } } } }`);
  return [body.notifications[0].payload.input, data.notifications.nodes[0].payload.input].map((read) =>
    JSON.stringify(read),
  );
}

/** Publishes an input, and expects it to be read unchanged. */
async function expectRoundTrip(userId: string, kind: 'planRequested' | 'questionRequested', input: object) {
  await publish(gateway, userId, 'task_failed', { payload: { [kind]: { toolId: 'tool', input } } });
  const text = JSON.stringify(input);
  expect(await readInputs(userId)).toEqual([text, text]);
}

test('returns an input unchanged over both APIs, with its keys in order', async () => {
  const extra = {
    zebra: 1,
    apple: { tool_id: 'x', toolId: 'y', created_at: 1, multiSelect: [], status: 'ACTIVE' },
    Mango: {
      a: null,
      b: false,
      c: 0,
      d: -1.5e-7,
      e: '',
      f: [],
      g: {},
      h: 2 ** 53 - 1,
      i: '2026-01-01T00:00:00Z',
    },
    _: '漢字 \u{1F600} \u0001 \u2028 "quoted" \\ \u{FFFF}',
    '': { '': '' },
    constructor: { toString: 2, hasOwnProperty: { valueOf: 3 } },
    '64 levels': Array.from({ length: 62 }).reduce<object>((inner) => ({ inner }), ['x']),
    many: Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`key-${2000 - n}`, n])),
  };
  await expectRoundTrip('special', 'planRequested', { plan: 'P', ...extra, summary: 'S' });
  await expectRoundTrip('special', 'questionRequested', { ...extra, questions: [] });
});

test('returns any JSON object unchanged', async () => {
  const storable = (json: unknown) => !/\\u0000|\\ud[89a-f]|__proto__/i.test(JSON.stringify(json));
  const key = fc.string({ unit: fc.constantFrom('a', 'B', '_', ' ', '"', '\\', '漢', '\u{1F600}') });
  const values = fc.dictionary(key, fc.jsonValue({ maxDepth: 5 })).filter(storable);
  await fc.assert(
    fc.asyncProperty(values, async (extra) => {
      const plan = JSON.parse(JSON.stringify({ ...extra, plan: 'P', summary: 'S' }));
      await expectRoundTrip('anything', 'planRequested', plan);
    }),
    { numRuns: 15 },
  );
});

test('accepts an input as a literal with variables inside', async () => {
  await as(platform).graphql(
    `mutation ($plan: String) { publishNotification(input: {
      userId: "literal", title: "T", task: { id: "t", projectId: "p" }
      payload: { planRequested: { toolId: "tool", input: {
        summary: "S", plan: $plan, list: [1, -2.5, true, null, "x"], nested: { z: 1, a: {} }
      } } }
    }) { created } }`,
    { plan: 'P' },
  );
  const text = '{"summary":"S","plan":"P","list":[1,-2.5,true,null,"x"],"nested":{"z":1,"a":{}}}';
  expect(await readInputs('literal')).toEqual([text, text]);
});
