import {
  type CallToolRequestParams,
  type CallToolResult,
  createMcpHandler,
  Server,
} from '@modelcontextprotocol/server';
import type { Request as ExpressRequest, Response as ExpressResponse, RequestHandler } from 'express';
import { NotFoundError, ValidationError } from '../errors/gateway-errors.ts';
import { formatLocation } from '../errors/issue.ts';
import { reportError } from '../graphql/errors.ts';
import { EVENT_STREAM } from '../graphql/plugins/request.ts';
import { createBodyError, readJson } from '../http/read-body.ts';
import type { Log } from '../log.ts';
import { contextOf } from '../server/caller.ts';
import { findExcess } from '../values/constraints.ts';
import { version } from '../version.ts';
import { type PublishDraft, requireTask } from './agent-requests.ts';
import { type ToolCaller, tools } from './mcp-tools.ts';

/** The path of the MCP server. */
export const MCP_PATH = '/mcp';

const INFO = { name: 'workspace-account-gateway', version };
const OPTIONS = {
  capabilities: { tools: {} },
  instructions:
    'Reaches the user who owns this task when they are not at the terminal. ask_human and propose_plan wait up to 50 seconds and then return pending: call check_request until there is an answer.',
};

/** The maximum size of a message. What the user is asked is smaller, and a call that waits keeps it in memory. */
const MAX_MESSAGE_BYTES = 131_072;

const MAX_PROGRESS_TOKEN = 255;

/** The time between two notifications of the progress of a wait. */
const PROGRESS_MS = 10_000;

const listed = tools.map(({ call: _call, ...tool }) => tool);

/** What a call of a tool returns. */
type OnCall = (params: CallToolRequestParams) => CallToolResult;

/** A complete reply. */
type Reply = { status: number; headers: Headers; text: string };

/**
 * Creates the handler of the MCP server: Streamable HTTP without sessions. Every message is a request of its own, by the
 * token that comes with it. The library checks a call before the tool runs, and formats the result afterwards: while a call
 * waits, none of the library's objects are in memory, which take 26 KiB.
 */
export function createMcp(publish: PublishDraft, log: Log): RequestHandler {
  const onCalls = new WeakMap<Request, OnCall>();
  const handler = createMcpHandler(
    ({ requestInfo }) => createServer(requestInfo && onCalls.get(requestInfo)),
    // Nothing that a client could subscribe to changes.
    { maxSubscriptions: 0, onerror: (error) => log.debug({ err: error }, 'an MCP message was refused') },
  );

  async function exchange(request: ExpressRequest, body: unknown, onCall: OnCall): Promise<Reply> {
    const sent = toWebRequest(request);
    onCalls.set(sent, onCall);
    const reply = await handler.fetch(sent, body === undefined ? {} : { parsedBody: body });
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  }

  return async (request, response) => {
    const context = contextOf(response);
    requireTask(context);
    const body = request.method === 'POST' ? await readJson(request, context) : undefined;
    if (Array.isArray(body)) throw createBodyError('must be one message');
    const excess = body === undefined ? undefined : findExcess(body, MAX_MESSAGE_BYTES);
    if (excess !== undefined) throw createBodyError(excess);
    let called: CallToolRequestParams | undefined;
    let reply = await exchange(request, body, (params) => {
      called = params;
      return { content: [] };
    });
    if (called !== undefined) {
      const result = await callTool(called, response, {
        context,
        publish: (draft) => publish(request, response, draft),
        isGone: () => response.destroyed,
      });
      reply = await exchange(request, body, () => result);
    }
    await context.quota.chargeMinimum(context);
    send(reply, response);
  };
}

/** Converts a request without its body and its token. All methods but POST are refused alike; some cannot be converted. */
function toWebRequest({
  method: sent,
  headers: { authorization: _token, ...others },
}: ExpressRequest): Request {
  const headers = Object.entries(others).filter((one): one is [string, string] => typeof one[1] === 'string');
  const method = sent === 'POST' ? sent : 'GET';
  return new Request(`http://localhost${MCP_PATH}`, { method, headers });
}

/** Creates the server of one message. */
function createServer(onCall: OnCall | undefined): Server {
  const server = new Server(INFO, OPTIONS);
  server.setRequestHandler('tools/list', () => ({ tools: listed }));
  server.setRequestHandler('tools/call', ({ params }) => {
    if (onCall) return onCall(params);
    throw new Error('The request of a call was not found.');
  });
  return server;
}

/** Calls a tool. Reports the progress at once, and then regularly, if the caller has asked for that. */
async function callTool(
  { name, arguments: given = {}, _meta }: CallToolRequestParams,
  response: ExpressResponse,
  caller: ToolCaller,
): Promise<CallToolResult> {
  const token = _meta?.progressToken;
  let progress: NodeJS.Timeout | undefined;
  try {
    if (token !== undefined) progress = reportProgress(token, response);
    const tool = tools.find((one) => one.name === name);
    if (tool === undefined) throw new NotFoundError();
    const result = await tool.call(given, caller);
    return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
  } catch (error) {
    return { content: [{ type: 'text', text: explain(error, caller) }], isError: true };
  } finally {
    clearInterval(progress);
  }
}

/** @throws {ValidationError} if the token is too long to be repeated */
function reportProgress(progressToken: string | number, response: ExpressResponse): NodeJS.Timeout {
  if (String(progressToken).length > MAX_PROGRESS_TOKEN) {
    const message = `must have at most ${MAX_PROGRESS_TOKEN} characters`;
    throw new ValidationError([{ path: ['_meta', 'progressToken'], message, value: null }]);
  }
  const start = Date.now();
  const report = () => {
    const progress = Math.round((Date.now() - start) / 1000);
    const params = { progressToken, progress, message: 'Waiting for the user.' };
    response.write(toEvent(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/progress', params })));
  };
  response.writeHead(200, { 'Content-Type': EVENT_STREAM, 'Cache-Control': 'no-store' });
  report();
  return setInterval(report, PROGRESS_MS);
}

const toEvent = (message: string) => `event: message\ndata: ${message}\n\n`;

/** Sends a reply, or adds it to the event stream that has begun. */
function send({ status, headers, text }: Reply, response: ExpressResponse): void {
  const isStream = headers.get('Content-Type')?.startsWith(EVENT_STREAM);
  if (response.headersSent) response.end(isStream ? text : toEvent(text));
  else
    response.setHeader('Cache-Control', 'no-store').writeHead(status, Object.fromEntries(headers)).end(text);
}

/** Describes an error for a model, with what it can do about it. */
function explain(error: unknown, { context }: ToolCaller): string {
  const shown = reportError(error, context);
  if (shown instanceof NotFoundError) return 'This task has no such request or tool.';
  // Each issue with its location, because the result of a tool has no list of errors.
  if (shown instanceof ValidationError)
    return shown.issues.map(({ path, message }) => `${formatLocation(path)} ${message}.`).join('\n');
  return shown.message;
}
