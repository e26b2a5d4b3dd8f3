import { createServer, type IncomingMessage } from 'node:http';
import type { NotificationPayload } from '../../src/notifications/payload.ts';
import { listen } from '../../src/server/listen.ts';
import { authenticate, type Caller } from './authenticate.ts';
import { dismiss, publish, storeSubscription, updatePreferences } from './changes.ts';
import { type Listed, readPage } from './reads.ts';
import { pool } from './settings.ts';

/* No framework and no GraphQL: only token verification, SQL statements and JSON.stringify. */

type InboxRow = Listed & { taskName: string; projectId: string; payload: NotificationPayload };

async function readInbox({ userId }: Caller, first: number) {
  const columns = `id, upper(kind) as kind, upper(status) as status, title, task_name as "taskName",
    project_id as "projectId", project_name as "projectName", payload, occurred_at as "occurredAt",
    created_at as "createdAt", updated_at as "updatedAt"`;
  const { nodes, pageInfo } = await readPage<InboxRow>(userId, columns, first);
  const notifications = nodes.map(({ taskName, projectId, payload, ...row }) => ({
    ...row,
    task: { name: taskName, projectId },
    payload: toShown(payload),
  }));
  return { nodes: notifications, pageInfo };
}

function toShown(payload: NotificationPayload) {
  if ('taskStatus' in payload)
    return { taskStatus: payload.taskStatus.toUpperCase(), message: payload.message };
  const { summary, plan, questions } = payload.input;
  return plan === undefined ? { questions } : { summary, plan };
}

async function readEditorAuth({ userId }: Caller) {
  const text = 'select key_id, reauth_reason from editor_credential where user_id = $1';
  const { rows } = await pool.query<Record<'key_id' | 'reauth_reason', string | null>>({
    name: 'editor-auth',
    text,
    values: [userId],
  });
  const { key_id, reauth_reason: reason = null } = rows[0] ?? {};
  const auth = { type: key_id ? 'subscription' : 'none' };
  return { auth, needs_reauth: reason !== null, reauth_reason: reason ?? undefined };
}

/** Reads the body of a request as JSON, without validation: the load sends valid requests. */
async function readBody(request: IncomingMessage) {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return JSON.parse(Buffer.concat(chunks).toString());
}

/** Returns the body of a reply to a request of the bench. */
async function handle(request: IncomingMessage, caller: Caller): Promise<object> {
  const route = `${request.method} ${request.url}`;
  if (route === 'GET /editor/auth') return readEditorAuth(caller);
  const { userId } = caller;
  const [, id] = /^POST \/user\/notifications\/([^/]+)\/dismiss$/.exec(route) ?? [];
  if (id !== undefined) return { notification: await dismiss(userId, decodeURIComponent(id)) };
  const body = await readBody(request);
  if (route === 'PUT /editor/auth/subscription') return storeSubscription(userId, body);
  if (route === 'PUT /user/notification-preferences')
    return { preferences: await updatePreferences(userId, body.preferences) };
  const { operationName, variables } = body;
  if (operationName === 'Inbox') return { data: { notifications: await readInbox(caller, variables.first) } };
  return { data: { publishNotification: await publish(variables.input) } };
}

const server = createServer(async (request, response) => {
  const reply = (status: number, body: object) => {
    const text = JSON.stringify(body);
    const headers = { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) };
    response.writeHead(status, headers).end(text);
  };
  try {
    const caller = await authenticate(request);
    if (caller === undefined) return reply(401, { error: 'unauthenticated' });
    reply(200, await handle(request, caller));
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    reply(500, { error: 'failed' });
  }
});

process.stdout.write(`Listening on ${await listen(server, { host: '127.0.0.1', port: 0 })}\n`);
