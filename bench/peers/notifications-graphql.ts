import { readFileSync } from 'node:fs';
import type {
  AskUserQuestion,
  PlanRequestedPayload,
  QuestionRequestedPayload,
  TaskResultPayload,
} from '../../src/notifications/payload.ts';
import type { Caller } from './authenticate.ts';
import { formatPageClauses, listPageValues, type Position, toPage } from './page.ts';
import { pool } from './pool.ts';

/*
 * The schema of both GraphQL peers, which is the gateway's, and the resolvers of its field `notifications`. Statements
 * return most fields under the names and with the enum values of the schema, so that they need no resolver.
 */

/** The gateway's schema. */
export const typeDefs = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');

type NotificationRow = Position & { kind: keyof typeof typeNames; projectId: string };

const typeNames = {
  PLAN_REQUESTED: 'PlanRequestedNotification',
  QUESTION_REQUESTED: 'QuestionRequestedNotification',
  TASK_FAILED: 'TaskFailedNotification',
  TASK_RESPONSE_READY: 'TaskResponseReadyNotification',
} as const;

/** Returns the type of a notification for the union and the interface. */
export const resolveTypeName = ({ kind }: Pick<NotificationRow, 'kind'>) => typeNames[kind];

/** All columns of a notification, because the resolver does not inspect the selection. */
const COLUMNS = `
  id, upper(kind) as kind, upper(status) as status, title, payload,
  task_id as "taskId", task_name as "taskName", project_id as "projectId", workspace_id as "workspaceId",
  project_name as "projectName", project_repo_url as "projectRepoUrl",
  preview_text as "previewText", pr_url as "prUrl", upper(resolution) as "resolution",
  occurred_at as "occurredAt", created_at as "createdAt", updated_at as "updatedAt",
  resolved_at as "resolvedAt", dismissed_at as "dismissedAt"`;

/** The arguments that the bench uses. Others are rejected. */
type Arguments = { first?: number | null; after?: string | null } & Record<string, unknown>;

async function notifications(_root: unknown, args: Arguments, { userId }: Caller) {
  const { first, after, ...others } = args;
  if (Object.values(others).some((value) => value != null))
    throw new Error('Only first and after are supported.');
  const limit = first ?? 50;
  const behind = after ?? null;
  const { rows } = await pool.query<NotificationRow>({
    name: behind === null ? 'first-page' : 'next-page',
    text: `select ${COLUMNS} from notification ${formatPageClauses(behind)}`,
    values: listPageValues(userId, limit, behind),
  });
  return toPage(rows, limit);
}

/** A task's fields have different names in the row. */
type TaskRow = { taskId: string; taskName: string | null };
const task = <Row>(row: Row): Row => row;

/** Resolvers of all fields whose name or value differs from the row. */
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

/** Serializes a timestamp. */
export const serializeTime = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  throw new TypeError('Not a timestamp.');
};
