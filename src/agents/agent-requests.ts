import type { Request, Response } from 'express';
import { type GraphQLSchema, parse } from 'graphql';
import type { z } from 'zod';
import { requireOwnTask } from '../auth/access.ts';
import { TASK_SCOPE } from '../auth/scopes.ts';
import type { TokenTask } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import { ForbiddenError, NotFoundError, ValidationError } from '../errors/gateway-errors.ts';
import type { Path } from '../errors/issue.ts';
import { toIssues } from '../errors/validation-issues.ts';
import { asGatewayError } from '../graphql/errors.ts';
import type { GraphQLServer } from '../graphql/server.ts';
import { requestQuery } from '../http/messages.ts';
import type { AnswerContent } from '../notifications/answers/answer.ts';
import { acknowledgeAnswer } from '../notifications/answers/answer-notification.ts';
import { awaitRequest, type FoundRequest } from '../notifications/answers/await-request.ts';
import type { ResolveReason } from '../notifications/notification.enums.ts';
import { type ResolveFilter, resolveNotifications } from '../notifications/resolve-notifications.ts';
import { contextOf } from '../server/caller.ts';
import { MAX_LENGTH, toLine, truncate } from '../values/text.ts';

/*
 * What an agent does with the requests of its task. Publishing runs the root field, whose access, points and rules apply
 * as everywhere; what follows belongs to the published request, and costs no further points.
 */

/** A notification of an agent, as an input of `publishNotification` without its user and task. */
export type AgentDraft = {
  id: string;
  title: string;
  payload: Readonly<Record<string, unknown>>;
  supersedes?: 'NOTHING';
  expiresInSeconds?: number;
};

/** Publishes notifications of agents. */
export type PublishDraft = ReturnType<typeof createPublishDraft>;

/**
 * Creates the function that publishes a draft for the task of a request's token, in the project of the token, or else of
 * the query.
 */
export function createPublishDraft(schema: GraphQLSchema, yoga: GraphQLServer) {
  const document = parse(
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }',
  );
  return async (req: Request, res: Response, draft: AgentDraft): Promise<void> => {
    const { userId, taskId, projectId = requestQuery(req).get('project') } = requireTask(contextOf(res));
    const message = 'is required, because the token names no project';
    if (projectId === null) throw new ValidationError([{ path: ['query', 'project'], message, value: null }]);
    const { errors: [error] = [] } = await yoga.getEnveloped({ req, res }).execute({
      schema,
      document,
      rootValue: {},
      contextValue: { req, res },
      variableValues: { input: { userId, task: { id: taskId, projectId }, ...draft } },
    });
    if (error !== undefined) throw asGatewayError(error);
  };
}

/** Returns the task of a task token. @throws {ForbiddenError} for any other token */
export function requireTask({ viewer }: Pick<Context, 'viewer'>): TokenTask {
  if (viewer.task === undefined) throw ForbiddenError.missingScope(TASK_SCOPE);
  return viewer.task;
}

/** Checks the shape of a value of the request. @throws {ValidationError} */
export function checkShape<Shape extends z.ZodType>(
  shape: Shape,
  value: unknown,
  path: Path,
): z.output<Shape> {
  const checked = shape.safeParse(value);
  if (checked.success) return checked.data;
  throw new ValidationError(toIssues(checked, value, path));
}

/** Makes text a title. */
export const toTitle = (text: string, fallback: string): string =>
  truncate(toLine(text), MAX_LENGTH.title) || fallback;

/** Returns the start of the IDs that the notifications of a task must have. */
export const idPrefixOf = ({ taskId }: TokenTask): string => `${encodeURIComponent(taskId)}:`;

/** Waits for a request of the caller's task, at most until just before the token expires: see {@link awaitRequest}. */
export function awaitOwn(context: Context, id: string, waitMs: number): Promise<FoundRequest> {
  const { viewer } = context;
  const { userId } = requireTask(context);
  const limit = Math.max(0, Math.min(waitMs, viewer.expiresAt - Date.now()));
  return awaitRequest(context, { userId, id }, limit, (found) => requireOwnTask(viewer, found));
}

/** Resolves notifications of the caller's task, and withdraws their open requests. Returns the IDs of those it changed. */
export function withdrawOwn(
  context: Context,
  filter: { ids: readonly string[] } | { idPrefix: string },
  reason: ResolveReason,
): Promise<string[]> {
  const { userId, taskId } = requireTask(context);
  const whole: ResolveFilter = 'ids' in filter ? { ...filter, ofTask: taskId } : { ...filter, taskId };
  return resolveNotifications(context, userId, whole, reason);
}

/**
 * Takes the answer of a request of the caller's task for the one caller that acts on it, and reports that to the user.
 * `isGone`: the caller disconnected. Returns undefined if there is no answer, or an earlier caller took it.
 */
export async function takeAnswer(
  context: Context,
  { id, userId, answer }: FoundRequest,
  isGone: boolean,
): Promise<AnswerContent | undefined> {
  if (answer === null) return undefined;
  const receipt = isGone
    ? ({ outcome: 'refused', message: 'The agent no longer waited for the answer.' } as const)
    : ({ outcome: 'accepted', message: null } as const);
  try {
    await acknowledgeAnswer(context, { userId, id }, receipt, (found) => {
      requireOwnTask(context.viewer, found);
      if (found.receipt !== null) throw new NotFoundError();
    });
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
  return answer;
}
