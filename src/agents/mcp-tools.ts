import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Context } from '../context.ts';
import { findRequestState, type QuestionAnswer } from '../notifications/answers/answer.ts';
import type { FoundRequest } from '../notifications/answers/await-request.ts';
import { idSchema } from '../values/constraints.ts';
import {
  type AgentDraft,
  awaitOwn,
  checkShape,
  idPrefixOf,
  requireTask,
  takeAnswer,
  toTitle,
  withdrawOwn,
} from './agent-requests.ts';

/* The tools of the MCP server. What is described is written for models. */

/** The caller of a tool. `isGone`: it has disconnected. */
export type ToolCaller = {
  context: Context;
  publish: (draft: AgentDraft) => Promise<void>;
  isGone: () => boolean;
};

/** The result of each tool. */
const ToolResult = z.object({
  status: z
    .enum(['answered', 'pending', 'expired', 'withdrawn', 'sent'])
    .describe('pending and expired mean that nobody has answered. They are not a no.'),
  request_id: z.string().describe('For check_request and withdraw_request.'),
  next: z.string().describe('What to do next.'),
  answers: z
    .array(z.object({ question: z.string(), options: z.array(z.string()), text: z.string().nullable() }))
    .optional()
    .describe('The answers to the questions: labels of the chosen options, and what the user wrote.'),
  decision: z.enum(['approve', 'request_changes', 'reject']).optional().describe('About a plan.'),
  text: z.string().nullable().optional().describe('The feedback on a plan, or the reply to a message.'),
});
type ToolResult = z.output<typeof ToolResult>;

/** JSON Schema, as the library types it. */
const toSchema = (shape: z.ZodObject, io: 'input' | 'output') =>
  z.looseObject({ type: z.literal('object') }).parse(z.toJSONSchema(shape, { io }));

/** What a model should do after a status. */
const next: Readonly<Record<ToolResult['status'], string>> = {
  answered: 'Follow the answer.',
  pending:
    'Nobody has answered yet, which is not a no. Do other work or call check_request with this request_id; do not act as if it were approved or refused.',
  expired:
    'Nobody answered in time, which is not a no. Ask again if it still matters, or take the option that can be undone.',
  withdrawn: 'The request was withdrawn, or answered elsewhere. Ask again only if you still need an answer.',
  sent: 'Go on. A reply, if there is one, is returned by check_request.',
};

/** Clients cut calls after 60 seconds. */
const MAX_WAIT_SECONDS = 50;

const seconds = (minimum: number, maximum: number, otherwise: number, description: string) =>
  z.int().min(minimum).max(maximum).default(otherwise).describe(description);
const text = (description: string) => z.string().min(1, 'must not be empty').describe(description);

const request_id = idSchema.describe('The request_id of an earlier result.');
const wait_seconds = seconds(0, MAX_WAIT_SECONDS, MAX_WAIT_SECONDS, 'How long to wait for the answer.');
const expires_in_seconds = seconds(60, 31_536_000, 86_400, 'People sleep: prefer hours.');
const times = { wait_seconds, expires_in_seconds };

const NO_SECRETS = 'Never put passwords, tokens or keys in it: it is stored, and sent by email and chat.';

/** A tool: its description for models, and what it does with arguments that it has checked. */
export type Tool = ReturnType<typeof defineTool>;

function defineTool<Input extends z.ZodObject>(
  name: string,
  description: string,
  input: Input,
  call: (input: z.output<Input>, caller: ToolCaller) => Promise<ToolResult>,
) {
  return {
    name,
    description,
    inputSchema: toSchema(input, 'input'),
    outputSchema: toSchema(ToolResult, 'output'),
    /** @throws {ValidationError} if the arguments do not have the shape */
    call(sent: unknown, caller: ToolCaller): Promise<ToolResult> {
      return call(checkShape(input, sent, ['arguments']), caller);
    },
  };
}

const Option = z.strictObject({
  label: text('One to five words.'),
  description: text('What follows.').optional(),
});
const Question = z.strictObject({
  question: text('A complete question that can be answered without reading your conversation.'),
  header: text('A label of one or two words.').optional(),
  options: z.array(Option).default([]).describe('Two to four distinct choices. Omit them for free text.'),
  multi_select: z.boolean().default(false).describe('Whether several options can be chosen.'),
});

/** The tools. */
export const tools: readonly Tool[] = [
  defineTool(
    'ask_human',
    `Asks the user who owns this task, wherever they are, and waits for the answer. Ask before what cannot be undone, costs money, or leaves the workspace, and when requirements contradict each other. Do not ask what you can find out, or for approval of what was already asked of you. A good question states the situation, recommends an option first, and says what happens with each. ${NO_SECRETS}`,
    z.strictObject({
      questions: z.array(Question).min(1, 'must have a question').max(4).describe('Asked together.'),
      ...times,
    }),
    ({ questions, ...times }, caller) => {
      const asked = questions.map(({ multi_select, ...one }) => ({ ...one, multiSelect: multi_select }));
      const title = toTitle(questions[0]?.question ?? '', 'A question');
      const payload = { questionRequested: { toolId: randomUUID(), input: { questions: asked } } };
      return ask({ title, payload }, times, caller);
    },
  ),
  defineTool(
    'propose_plan',
    `Shows the user a plan, and waits until they approve it, request changes or reject it. Use it before work of more than an hour, or that touches what others depend on. After request_changes, revise the plan and propose it again. ${NO_SECRETS}`,
    z.strictObject({
      summary: text('One sentence: what will be different afterwards.'),
      plan: text('The steps, in Markdown, with what you will not do.'),
      ...times,
    }),
    ({ summary, plan, ...times }, caller) => {
      const payload = { planRequested: { toolId: randomUUID(), input: { summary, plan } } };
      return ask({ title: toTitle(summary, 'A plan'), payload }, times, caller);
    },
  ),
  defineTool(
    'check_request',
    'Returns the answer to an earlier request, and waits for it if there is none yet. Call it after pending, until the status is another. It asks nobody again.',
    z.strictObject({ request_id, wait_seconds }),
    ({ request_id: id, wait_seconds: seconds }, caller) => awaitResult(id, seconds, caller),
  ),
  defineTool(
    'withdraw_request',
    'Withdraws a request that no longer needs an answer, so that the user does not answer in vain.',
    z.strictObject({ request_id }),
    async ({ request_id: id }, caller) => {
      await withdrawOwn(caller.context, { ids: [id] }, 'resumed');
      return awaitResult(id, 0, caller);
    },
  ),
  defineTool(
    'notify_user',
    `Tells the user that the task is done or has failed. It asks nothing and does not wait. One message at the end of the work is enough: they are counted, and those beyond 12 an hour are not sent. ${NO_SECRETS}`,
    z.strictObject({
      outcome: z.enum(['done', 'failed']),
      title: text('One line: what is done, or what failed.'),
      message: text('What the user should know, in a few sentences.'),
    }),
    async ({ outcome, title, message }, caller) => {
      const payload =
        outcome === 'done'
          ? { taskResponseReady: { taskStatus: 'AWAITING_INPUT', message } }
          : { taskFailed: { taskStatus: 'ERRORED', message } };
      const id = createId(caller);
      await caller.publish({ id, title: toTitle(title, 'A message'), payload });
      return { status: 'sent', request_id: id, next: next.sent };
    },
  ),
];

type Times = { wait_seconds: number; expires_in_seconds: number };

const createId = ({ context }: ToolCaller) => `${idPrefixOf(requireTask(context))}mcp.${randomUUID()}`;

/** Publishes a request, and waits for its answer. If the caller does not get the ID, nobody would read an answer. */
async function ask(draft: Omit<AgentDraft, 'id'>, times: Times, caller: ToolCaller): Promise<ToolResult> {
  const { context, isGone } = caller;
  const id = createId(caller);
  const expiresInSeconds = times.expires_in_seconds;
  await caller.publish({ ...draft, id, supersedes: 'NOTHING', expiresInSeconds });
  let result: ToolResult | undefined;
  try {
    const found = await awaitOwn(context, id, 1000 * times.wait_seconds);
    await takeAnswer(context, found, isGone());
    result = toResult(found);
    return result;
  } finally {
    if (result === undefined || isGone()) await withdrawOwn(context, { ids: [id] }, 'resumed');
  }
}

/**
 * Waits for the answer to a request of the task, and reports to the user that the agent has it. Not if the caller has
 * disconnected: it has the ID, and can ask again.
 */
async function awaitResult(
  id: string,
  seconds: number,
  { context, isGone }: ToolCaller,
): Promise<ToolResult> {
  const found = await awaitOwn(context, id, 1000 * seconds);
  if (!isGone()) await takeAnswer(context, found, false);
  return toResult(found);
}

function toResult(found: FoundRequest): ToolResult {
  const { id, answer } = found;
  const state = findRequestState(found);
  const status = state === 'open' ? 'pending' : state;
  const result = { status, request_id: id, next: next[status] } as const;
  if (answer === null) return result;
  if ('plan' in answer) return { ...result, decision: answer.plan.decision, text: answer.plan.feedback };
  if ('reply' in answer) return { ...result, text: answer.reply.text };
  const toShown = ({ question, labels, other: text }: QuestionAnswer) => ({
    question,
    options: [...labels],
    text,
  });
  return { ...result, answers: answer.questions.map(toShown) };
}
