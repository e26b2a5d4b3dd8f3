import { pipeline } from 'node:stream/promises';
import {
  createMcpHandler,
  type ProgressNotificationParams,
  type ProgressToken,
  Server,
} from '@modelcontextprotocol/server';
import type { Request as ExpressRequest, Response as ExpressResponse, RequestHandler } from 'express';
import { z } from 'zod';
import { ConflictError, NotFoundError } from '../errors/gateway-errors.ts';
import { reportError } from '../graphql/errors.ts';
import { requestQuery } from '../http/messages.ts';
import { createBodyError } from '../http/read-body.ts';
import { readJson } from '../http/read-json.ts';
import type { Log } from '../log.ts';
import { contextOf } from '../server/caller.ts';
import { version } from '../version.ts';
import { type PublishDraft, requireProject, requireTask } from './agent-requests.ts';
import { resultSchema, type ToolCaller, tools } from './mcp-tools.ts';

/** The path of the MCP server. */
export const MCP_PATH = '/mcp';

const INSTRUCTIONS =
  'Reaches the user who owns this task when they are not at the terminal. ask_human and propose_plan wait up to 50 seconds and then return pending: call check_request until there is an answer.';

/** The time between two notifications of the progress of a wait. */
const PROGRESS_MS = 10_000;

const Schema = z.looseObject({ type: z.literal('object') });

const listed = tools.map(({ name, description, inputSchema }) => ({
  name,
  description,
  inputSchema: Schema.parse(inputSchema),
  outputSchema: Schema.parse(resultSchema),
}));

/**
 * Creates the handler of the MCP server: Streamable HTTP without sessions. Every message is a request of its own, by the
 * token that comes with it.
 */
export function createMcp(publish: PublishDraft, log: Log): RequestHandler {
  const callers = new WeakMap<Request, ToolCaller>();
  const handler = createMcpHandler(
    ({ requestInfo }) => createServer(requestInfo && callers.get(requestInfo)),
    // Nothing that a client could subscribe to changes.
    { maxSubscriptions: 0, onerror: (error) => log.debug({ err: error }, 'an MCP message was refused') },
  );
  return async (request, response) => {
    const context = contextOf(response);
    requireTask(context);
    const body = request.method === 'POST' ? await readJson(request, context) : undefined;
    if (Array.isArray(body)) throw createBodyError('must be one message');
    const sent = toWebRequest(request, response);
    callers.set(sent, {
      context,
      publish: (draft) => {
        const named = requestQuery(request).get('project') ?? undefined;
        return publish(request, response, requireProject(requireTask(context), named), draft);
      },
      isGone: () => response.destroyed,
    });
    await send(await handler.fetch(sent, body === undefined ? {} : { parsedBody: body }), response);
    await context.quota.chargeMinimum(context);
  };
}

/** Converts a request without its body. Its signal is aborted when the caller disconnects. */
function toWebRequest({ method, headers }: ExpressRequest, response: ExpressResponse): Request {
  const leaving = new AbortController();
  contextOf(response).onLeave(() => leaving.abort());
  const { authorization: _token, ...others } = headers;
  const named = Object.entries(others).filter(
    (header): header is [string, string] => typeof header[1] === 'string',
  );
  return new Request(`http://localhost${MCP_PATH}`, { method, headers: named, signal: leaving.signal });
}

async function send(reply: Response, response: ExpressResponse): Promise<void> {
  response.setHeader('Cache-Control', 'no-store');
  response.writeHead(reply.status, Object.fromEntries(reply.headers));
  if (reply.body === null) response.end();
  // A caller that disconnects ends the reply.
  else await pipeline(reply.body, response).catch(() => response.destroy());
}

/** Creates the server of one message. */
function createServer(caller: ToolCaller | undefined): Server {
  const server = new Server(
    { name: 'workspace-account-gateway', version },
    { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
  );
  server.setRequestHandler('tools/list', () => ({ tools: listed }));
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const tool = tools.find(({ name }) => name === params.name);
    if (caller === undefined) throw new Error('The caller of a tool was not identified.');
    const progress = reportProgress(params._meta?.progressToken, (sent) => mcpReq.notify(sent));
    try {
      if (tool === undefined) throw new NotFoundError();
      const result = await tool.call(params.arguments ?? {}, caller);
      return { content: [{ type: 'text', text: JSON.stringify(result) }], structuredContent: result };
    } catch (error) {
      return { content: [{ type: 'text', text: explain(error, caller) }], isError: true };
    } finally {
      clearInterval(progress);
    }
  });
  return server;
}

type Progress = { method: 'notifications/progress'; params: ProgressNotificationParams };

/** Says at once and then regularly that a call is waiting, if its caller has asked for that. */
function reportProgress(
  progressToken: ProgressToken | undefined,
  notify: (sent: Progress) => Promise<void>,
): NodeJS.Timeout | undefined {
  if (progressToken === undefined) return undefined;
  const start = Date.now();
  const report = () => {
    const progress = Math.round((Date.now() - start) / 1000);
    const params = { progressToken, progress, message: 'Waiting for the user.' };
    // The caller may have disconnected.
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
  report();
  return setInterval(report, PROGRESS_MS);
}

/** Describes an error for a model, with what it can do about it. */
function explain(error: unknown, { context }: ToolCaller): string {
  const shown = reportError(error, context);
  if (shown instanceof NotFoundError) return 'This task has no such request or tool.';
  const isFull = shown instanceof ConflictError && shown.reason === 'LIMIT_REACHED';
  return isFull ? `${shown.message} Withdraw one by withdraw_request, or wait for answers.` : shown.message;
}
