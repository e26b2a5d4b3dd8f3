import { readFileSync } from 'node:fs';
import type {
  AskUserQuestion,
  PlanRequestedPayload,
  QuestionRequestedPayload,
  TaskResultPayload,
} from '../../src/notifications/payload.ts';
import type { Caller } from './authenticate.ts';
import { type Position, pageClause, pageOf, pageValues } from './page.ts';
import { pool } from './pool.ts';

/*
 * What both GraphQL peers share: the gateway's own schema, and the resolvers of its field `notifications`. The rows
 * come from PostgreSQL with the names and words of the schema, so that nearly all fields are read as they are.
 */

/** The gateway's schema: the same union, fields and arguments. */
export const typeDefs = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');

type NotificationRow = Position & { kind: keyof typeof typeNames; projectId: string };

const typeNames = {
  PLAN_REQUESTED: 'PlanRequestedNotification',
  QUESTION_REQUESTED: 'QuestionRequestedNotification',
  TASK_FAILED: 'TaskFailedNotification',
  TASK_RESPONSE_READY: 'TaskResponseReadyNotification',
} as const;

/** The type of a notification in the union and in the interface. */
export const typeNameOf = ({ kind }: Pick<NotificationRow, 'kind'>) => typeNames[kind];

/** All that a notification shows: a resolver does not know which of it was asked for. */
const COLUMNS = `
  id, upper(kind) as kind, upper(status) as status, title, payload,
  task_id as "taskId", task_name as "taskName", project_id as "projectId", workspace_id as "workspaceId",
  project_name as "projectName", project_repo_url as "projectRepoUrl",
  preview_text as "previewText", pr_url as "prUrl", upper(resolved_by) as "resolvedBy",
  occurred_at as "occurredAt", created_at as "createdAt", updated_at as "updatedAt",
  resolved_at as "resolvedAt", dismissed_at as "dismissedAt"`;

/** The arguments that the bench uses; the others are refused, not passed over. */
type Arguments = { first?: number | null; after?: string | null } & Record<string, unknown>;

async function notifications(_root: unknown, args: Arguments, { userId }: Caller) {
  const { first, after, ...others } = args;
  if (Object.values(others).some((value) => value != null)) throw new Error('Only first and after are here.');
  const limit = first ?? 50;
  const behind = after ?? null;
  const { rows } = await pool.query<NotificationRow>({
    name: behind === null ? 'first-page' : 'next-page',
    text: `select ${COLUMNS} from notification ${pageClause(behind)}`,
    values: pageValues(userId, limit, behind),
  });
  return pageOf(rows, limit);
}

/** A task's fields have other names in the row. */
type TaskRow = { taskId: string; taskName: string | null };
const task = <Row>(row: Row): Row => row;

/** Resolvers of everything whose name or value differs from the row's. */
export const resolvers = {
  Query: { notifications },
  NotificationTask: { id: ({ taskId }: TaskRow) => taskId, name: ({ taskName }: TaskRow) => taskName },
  PlanRequestedNotification: { task },
  QuestionRequestedNotification: { task },
  TaskFailedNotification: { task },
  TaskResponseReadyNotification: { task },
  PlanRequestedPayload: {
    summary: ({ input }: PlanRequestedPayload) => input.summary,
    plan: ({ input }: PlanRequestedPayload) => input.plan,
  },
  QuestionRequestedPayload: { questions: ({ input }: QuestionRequestedPayload) => input.questions },
  AskUserQuestion: { questionId: ({ id }: AskUserQuestion) => id },
  TaskResultPayload: { taskStatus: ({ taskStatus }: TaskResultPayload) => taskStatus.toUpperCase() },
};

/** Writes a time; the only scalar with a form of its own. */
export const serializeTime = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  throw new TypeError('Not a time.');
};
