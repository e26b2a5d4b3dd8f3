import { hash, randomUUID } from 'node:crypto';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import { UnauthenticatedError, ValidationError } from '../errors/gateway-errors.ts';
import { isRecord } from '../errors/issue.ts';
import { toIssues } from '../errors/validation-issues.ts';
import { reportError } from '../graphql/errors.ts';
import { findUnknownParameters, requestQuery, sendText } from '../http/messages.ts';
import { readJson } from '../http/read-body.ts';
import { PERMISSION_PREFIX } from '../notifications/answers/approval.ts';
import type { FoundRequest } from '../notifications/answers/await-request.ts';
import { contextOf } from '../server/caller.ts';
import { describeRange, findExcess, idSchema } from '../values/constraints.ts';
import {
  type AgentDraft,
  awaitOwn,
  checkShape,
  idPrefixOf,
  type PublishDraft,
  requireTask,
  takeAnswer,
  withdrawOwn,
} from './agent-requests.ts';
import { type Decision, type HookQuestion, hookAgents } from './hook-mappings.ts';

/** The path that hooks of coding agents call. */
export const HOOKS_PATH = '/hooks/agent';

const seconds = (minimum: number, maximum: number, otherwise: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && +text >= minimum && +text <= maximum,
      describeRange(minimum, maximum),
    )
    .transform(Number)
    .default(otherwise);

const Query = z.object({
  agent: z.enum(['claude', 'codex']),
  project: idSchema.optional(),
  wait: seconds(0, 55, 55),
  expires: seconds(1, 31_536_000, 3600),
  unanswered: z.enum(['prompt', 'deny']).default('prompt'),
  call: idSchema.optional(),
});
type Query = z.output<typeof Query>;

const name = z.string().max(255, 'must have at most 255 characters');

/** The members of a body that are used. A call that waits keeps them in memory, and nothing else of the body. */
const Body = z.object({
  hook_event_name: z.enum(['PermissionRequest', 'PostToolUse', 'PostToolUseFailure', 'SessionEnd']),
  session_id: name,
  prompt_id: name.nullish(),
  turn_id: name.nullish(),
  agent_id: name.nullish(),
  tool_name: z
    .string()
    .regex(/^[\w.:-]{1,128}$/, 'must be 1 to 128 letters, digits and _ . : -')
    .optional(),
  // Not `z.record`, which leaves out a member named `__proto__`: it would not be shown.
  tool_input: z.custom<Record<string, unknown>>(isRecord, 'must be an object').default({}),
  permission_suggestions: z.array(z.unknown()).default([]),
});
type Body = z.output<typeof Body>;

/**
 * Creates the handlers of the hooks of coding agents. `handle` asks the user about a tool call, waits for the answer and
 * replies with the decision; if there is none, it withdraws the request and replies with nothing, so that the agent shows
 * its own prompt, or with `unanswered=deny` with a denial. `fail` denies after errors, because agents would proceed.
 */
export function createHooks(publish: PublishDraft): { handle: RequestHandler; fail: ErrorRequestHandler } {
  return {
    async handle(request, response) {
      const context = contextOf(response);
      const task = requireTask(context);
      const query = readQuery(request);
      const body = checkShape(Body, await readJson(request, context), ['body']);
      const session = `${idPrefixOf(task)}hook.${digest([query.agent, body.session_id])}.`;
      if (body.hook_event_name === 'PermissionRequest') {
        checkSize(body);
        const ask = (draft: AgentDraft) => publish(request, response, draft);
        const outcome = await decide(ask, response, query, identify(session, query, body));
        return sendDecision(response, query, outcome);
      }
      const isEnd = body.hook_event_name === 'SessionEnd';
      const idPrefix = isEnd ? session : identify(session, query, body).prefix;
      await withdrawOwn(context, { idPrefix }, isEnd ? 'resumed' : 'answered_elsewhere');
      await context.quota.chargeMinimum(context);
      sendNothing(response, 200);
    },
    async fail(error, request, response, next) {
      // A misspelled value denies, too.
      const mode = requestQuery(request).get('unanswered') ?? 'prompt';
      if (mode === 'prompt' || error instanceof UnauthenticatedError || response.headersSent)
        return next(error);
      const { record, context } = response.locals;
      const { message } = reportError(error, record);
      await context?.quota.chargeMinimum(context);
      sendJson(response, deny(`Nobody was asked: ${message} This is not a refusal by the user.`));
    },
  };
}

/** @throws {ValidationError} if a parameter is unknown, repeated or invalid */
function readQuery(request: Request): Query {
  const sent = requestQuery(request);
  const values = [...new Set(sent.keys())].map((name) => [name, sent.getAll(name)] as const);
  const query = Object.fromEntries(values.map(([name, all]) => [name, all.length > 1 ? all : all[0]]));
  const checked = Query.safeParse(query);
  const unknown = findUnknownParameters(Object.keys(Query.shape), sent);
  if (checked.success && unknown.length === 0) return checked.data;
  throw new ValidationError([...unknown, ...toIssues(checked, query, ['query'])]);
}

/** @throws {ValidationError} if what waits in memory is larger than what the user can be shown */
function checkSize({ tool_input, permission_suggestions }: Body): void {
  const issues = Object.entries({ tool_input, permission_suggestions }).flatMap(([member, value]) => {
    const message = findExcess(value);
    return message === undefined ? [] : [{ path: ['body', member], message, value: null }];
  });
  if (issues.length > 0) throw new ValidationError(issues);
}

const digest = (value: unknown) => hash('sha256', JSON.stringify(value), 'base64url').slice(0, 16);

/** What the user is asked about a call, and the start of the IDs of its requests: the task, the session and the call. */
type IdentifiedCall = { ask(): HookQuestion; prefix: string };

/** @throws {ValidationError} if the body names no tool */
function identify(session: string, { agent }: Query, body: Body): IdentifiedCall {
  const { tool_name: tool, tool_input: input, permission_suggestions: suggestions } = body;
  if (tool === undefined)
    throw new ValidationError([{ path: ['body', 'tool_name'], message: 'is required', value: null }]);
  const { turn, tools, permission } = hookAgents[agent];
  const mapping = tools.get(tool) ?? permission;
  const hashed = digest([body[turn], body.agent_id, tool, mapping.identify(input)]);
  return { ask: () => mapping.ask({ tool, input, suggestions }), prefix: `${session}${hashed}.` };
}

/** A decision; 'pending' if the caller repeats the call; undefined if nobody answered. */
type Outcome = Decision | 'pending' | undefined;

/** Asks the user about a call, and waits for the answer. Withdraws the request if the call is given up. */
async function decide(
  publish: (draft: AgentDraft) => Promise<void>,
  response: Response,
  { call, wait, expires }: Query,
  { ask, prefix }: IdentifiedCall,
): Promise<Outcome> {
  const context = contextOf(response);
  const { title, kind, isPermission, shown, toDecision } = ask();
  const toolId = (isPermission ? PERMISSION_PREFIX : '') + prefix.slice(prefix.indexOf(':') + 1, -1);
  // An equal call is another request, unless the caller says that it repeats this one.
  const id = prefix + digest(call ?? randomUUID());
  const payload = { [kind]: { toolId, input: shown } };
  await publish({ id, title, payload, supersedes: 'NOTHING', expiresInSeconds: expires });
  const giveUp = async (): Promise<FoundRequest> => {
    await withdrawOwn(context, { ids: [id] }, 'resumed');
    return awaitOwn(context, id, 0);
  };
  let found: FoundRequest;
  try {
    found = await awaitOwn(context, id, 1000 * wait);
  } catch (error) {
    await giveUp();
    throw error;
  }
  if (found.requestState === 'open') {
    if (call !== undefined && !response.destroyed) return 'pending';
    // The answer may have been stored in the meantime.
    found = await giveUp();
  }
  const answer = await takeAnswer(context, found, response.destroyed);
  return answer && toDecision(answer);
}

const NO_ANSWER = 'There is no answer yet. This is not a refusal by the user.';

function sendDecision(response: Response, { unanswered }: Query, outcome: Outcome): void {
  if (outcome === 'pending') sendNothing(response, 202);
  else if (outcome !== undefined) sendJson(response, outcome);
  else if (unanswered === 'deny') sendJson(response, deny(NO_ANSWER));
  else sendNothing(response, 200);
}

const deny = (message: string): Decision => ({ behavior: 'deny', message });

const sendNothing = (response: Response, status: number) =>
  response.writeHead(status, { 'Content-Length': 0 }).end();

function sendJson(response: Response, decision: Decision): void {
  const hookSpecificOutput = { hookEventName: 'PermissionRequest', decision };
  sendText(response, 200, 'application/json', JSON.stringify({ hookSpecificOutput }));
}
