import type { parseArgs } from 'node:util';
import { TASK_SCOPE } from '../auth/scopes.ts';
import type { Task } from '../auth/viewer.ts';
import { isId } from '../values/text.ts';
import { UsageError } from './run-command.ts';

/** What a token of `npm run token` contains. */
export type TokenOptions = {
  sub: string;
  org: string | undefined;
  scope: string | undefined;
  /** The user and the task of a task token, which are its subject and its scope by default. */
  task: Task | undefined;
  /** How long the token is valid. */
  seconds: number;
};

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400 };

/** The options of `npm run token`, as `parseArgs` takes them. */
export const tokenOptions = {
  sub: { type: 'string' },
  org: { type: 'string' },
  scope: { type: 'string' },
  user: { type: 'string' },
  task: { type: 'string' },
  ttl: { type: 'string', default: '1h' },
} as const;

type Given = ReturnType<typeof parseArgs<{ options: typeof tokenOptions }>>['values'];

/** Checks the options of `npm run token`. @throws {UsageError} if one is invalid */
export function readTokenOptions({ sub, org, scope, user, task, ttl }: Given): TokenOptions {
  const ofTask = readTask(user, task);
  const subject = sub ?? ofTask?.userId;
  if (subject === undefined || !isId(subject)) {
    throw new UsageError('--sub must be a user ID of 1 to 255 characters.');
  }
  if (org === '') throw new UsageError('--org must not be empty.');
  return { sub: subject, org, scope: scope ?? (ofTask && TASK_SCOPE), task: ofTask, seconds: parseTtl(ttl) };
}

function readTask(userId: string | undefined, taskId: string | undefined): Task | undefined {
  if (userId === undefined && taskId === undefined) return undefined;
  if (taskId === undefined)
    throw new UsageError('--user is the user of a --task. Add --task, or name the user with --sub only.');
  if (userId === undefined) throw new UsageError('--task requires --user, the user of the task.');
  if (!isId(userId)) throw new UsageError('--user must be a user ID of 1 to 255 characters.');
  if (!isId(taskId)) throw new UsageError('--task must be a task ID of 1 to 255 characters.');
  return { userId, taskId };
}

function parseTtl(ttl: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(ttl) ?? [];
  switch (unit) {
    case 's':
    case 'm':
    case 'h':
    case 'd':
      return Number(count) * unitSeconds[unit];
    default:
      throw new UsageError('--ttl must be a number followed by s, m, h or d, for example 30m.');
  }
}
