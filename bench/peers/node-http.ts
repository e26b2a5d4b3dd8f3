import { createServer, type IncomingMessage } from 'node:http';
import { authenticate, type Caller } from './authenticate.ts';
import { change } from './changes.ts';
import { dismiss } from './dismiss.ts';
import { formatPageClauses, listPageValues, type Position, toPage } from './page.ts';
import { pool } from './pool.ts';
import { type KindAndPayload, toWorkspace, WORKSPACE_COLUMNS, type WorkspaceRow } from './records.ts';

/* No framework and no GraphQL: only token verification, SQL statements and JSON.stringify. */

type Reply = { status: number; body: object };
const ok = (body: object): Reply => ({ status: 200, body });
const notFound: Reply = { status: 404, body: { error: 'not found' } };

async function handle(request: IncomingMessage, caller: Caller): Promise<Reply> {
  const { method, url = '' } = request;
  if (method === 'GET' && url === '/editor/auth') return editorAuth(caller);
  if (method === 'GET' && url === '/user/workspaces') return ok(await workspaces(caller));
  if (method === 'GET' && url.startsWith('/inbox?')) return ok(await inbox(caller, url));
  const changed = await change(request, caller);
  if (changed !== undefined) return ok(changed);
  const [, id] = /^\/user\/notifications\/([^/]+)\/dismiss$/.exec(url) ?? [];
  if (method !== 'POST' || id === undefined) return notFound;
  const notification = await dismiss(caller.userId, decodeURIComponent(id));
  return notification === undefined ? notFound : ok({ notification });
}

type InboxRow = Position &
  KindAndPayload & {
    status: string;
    title: string;
    taskName: string | null;
    projectId: string;
    projectName: string | null;
    occurredAt: Date;
    updatedAt: Date;
  };

/** Reads the newest notifications, with the fields of the bench's GraphQL query. */
async function inbox({ userId }: Caller, url: string) {
  const query = new URLSearchParams(url.slice(url.indexOf('?')));
  const first = Number(query.get('first'));
  const after = query.get('after');
  const { rows } = await pool.query<InboxRow>({
    name: after === null ? 'first-page' : 'next-page',
    text: `select id, kind, status, title, task_name as "taskName", project_id as "projectId",
      project_name as "projectName", payload, occurred_at as "occurredAt", created_at as "createdAt",
      updated_at as "updatedAt" from notification ${formatPageClauses(after)}`,
    values: listPageValues(userId, first, after),
  });
  const { nodes, pageInfo } = toPage(rows, first);
  return { nodes: nodes.map(toInboxItem), pageInfo };
}

function toInboxItem(row: InboxRow) {
  return {
    id: row.id,
    kind: row.kind,
    status: row.status,
    title: row.title,
    task: { name: row.taskName, projectId: row.projectId },
    projectName: row.projectName,
    occurredAt: row.occurredAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
    payload: toShownPayload(row),
  };
}

function toShownPayload({ kind, payload }: KindAndPayload) {
  switch (kind) {
    case 'plan_requested':
      return { summary: payload.input.summary, plan: payload.input.plan };
    case 'question_requested':
      return { questions: payload.input.questions };
    case 'task_failed':
    case 'task_response_ready':
      return { taskStatus: payload.taskStatus, message: payload.message };
  }
}

async function workspaces({ userId }: Caller) {
  const { rows } = await pool.query<WorkspaceRow>({
    name: 'workspaces',
    text: `select ${WORKSPACE_COLUMNS} from workspace where user_id = $1 order by created_at desc, id desc`,
    values: [userId],
  });
  return { workspaces: rows.map(toWorkspace) };
}

async function editorAuth({ userId, isMember }: Caller): Promise<Reply> {
  if (!isMember) return { status: 403, body: { error: 'no organization' } };
  const { rows } = await pool.query<{ key_id: string | null; reauth_reason: string | null }>({
    name: 'editor-auth',
    text: 'select key_id, reauth_reason from editor_credential where user_id = $1',
    values: [userId],
  });
  const [stored] = rows;
  if (stored === undefined || stored.key_id === null) {
    return ok({ auth: { type: 'none' }, needs_reauth: false });
  }
  return ok({
    auth: { type: 'subscription' },
    needs_reauth: stored.reauth_reason !== null,
    reauth_reason: stored.reauth_reason ?? undefined,
  });
}

const server = createServer(async (request, response) => {
  const send = ({ status, body }: Reply) => {
    const text = JSON.stringify(body);
    response
      .writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(text) })
      .end(text);
  };
  try {
    const caller = await authenticate(request);
    if (caller === undefined) return send({ status: 401, body: { error: 'unauthenticated' } });
    send(await handle(request, caller));
  } catch (error) {
    process.stderr.write(`${String(error)}\n`);
    send({ status: 500, body: { error: 'failed' } });
  }
});

server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (address !== null && typeof address !== 'string') {
    process.stdout.write(`Listening on http://127.0.0.1:${address.port}\n`);
  }
});
