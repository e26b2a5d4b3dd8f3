import { readFileSync } from 'node:fs';
import type { Caller } from './authenticate.ts';
import { readPage } from './reads.ts';

/*
 * The schema of both GraphQL peers, which is the gateway's, and the resolvers of its field `notifications`. Statements
 * return most fields under the names and with the enum values of the schema, so that they need no resolver.
 */

/** The gateway's schema. */
export const typeDefs = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');

const typeNames = {
  PLAN_REQUESTED: 'PlanRequestedNotification',
  QUESTION_REQUESTED: 'QuestionRequestedNotification',
  TASK_FAILED: 'TaskFailedNotification',
  TASK_RESPONSE_READY: 'TaskResponseReadyNotification',
} as const;

type NotificationRow = { id: string; createdAt: Date; kind: keyof typeof typeNames; projectId: string };

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

const notifications = (_root: unknown, { first }: { first?: number | null }, { userId }: Caller) =>
  readPage<NotificationRow>(userId, COLUMNS, first ?? 50);

/** A task's fields have different names in the row. */
type TaskRow = { taskId: string; taskName: string | null };
type Payload = { input: Record<'summary' | 'plan' | 'questions', unknown> };
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
    summary: ({ input }: Payload) => input.summary,
    plan: ({ input }: Payload) => input.plan,
  },
  QuestionRequestedPayload: { questions: ({ input }: Payload) => input.questions },
  AskUserQuestion: { questionId: ({ id }: { id: string }) => id },
  TaskResultPayload: { taskStatus: ({ taskStatus }: { taskStatus: string }) => taskStatus.toUpperCase() },
};

/** Serializes a timestamp. */
export const serializeTime = (value: unknown): string => {
  if (value instanceof Date) return value.toISOString();
  throw new TypeError('Not a timestamp.');
};
