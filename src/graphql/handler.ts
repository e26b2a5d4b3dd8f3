import { isAsyncIterable } from '@graphql-tools/utils';
import type { Request, Response } from 'express';
import type { ExecutionResult } from 'graphql';
import { anonymous } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import { type GatewayError, UnauthenticatedError } from '../errors.ts';
import { valueAt } from '../faults.ts';
import { parseJson, readJson } from '../http/body.ts';
import { searchOf } from '../http/search.ts';
import { parseDocument } from './document.ts';
import { httpOf, shownError, toGraphQLError } from './gateway-error.ts';
import { resultTypeOf } from './media-type.ts';
import { isIntrospection } from './operation.ts';
import { run } from './run.ts';
import { EVENT_STREAM, sendEvents } from './sse.ts';
import type { createGraphQLServer } from './yoga.ts';

/** What the GraphQL face needs of the gateway. */
export type GraphQLOptions = {
  yoga: ReturnType<typeof createGraphQLServer>;
  /** Whether introspection needs no token. */
  openIntrospection: boolean;
  /** Authenticates a request and opens its context; for `anonymous` it only opens one. */
  open(request: Request, response: Response, as?: typeof anonymous): Promise<Context>;
  settle(context: Context, response: Response): Promise<void>;
  fail(error: unknown, response: Response): GatewayError;
};

/**
 * The GraphQL face: the token first, then the body, then the operation. What went well is written here; event streams
 * too, for Yoga's hold more than twice the memory. All else, and every error, is answered by Yoga.
 */
export function createGraphQLHandler({ yoga, openIntrospection, open, settle, fail }: GraphQLOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    let context: Context | undefined;
    try {
      context = await openFor(request, response);
      const parameters =
        request.method === 'POST' ? await readJson(request, response) : parametersOf(request);
      await answer(request, response, parameters, context);
    } catch (error) {
      if (context !== undefined) await settle(context, response);
      sendError(request, response, fail(error, response));
    }
  };

  async function answer(request: Request, response: Response, parameters: unknown, context: Context) {
    const { method, headers } = request;
    const isPost = method === 'POST';
    const takesEvents = (isPost || method === 'GET') && request.accepts(EVENT_STREAM) !== false;
    const allowed = { query: isPost, mutation: isPost, subscription: takesEvents };
    const result = await run(yoga, parameters, context, allowed);
    if (result === undefined) return yoga(request, response, context);
    if (isAsyncIterable(result)) {
      await settle(context, response);
      // It has been read, and would be kept for as long as the stream lives.
      request.body = undefined;
      return sendEvents(result, response, context.log);
    }
    const type = resultTypeOf(headers.accept);
    // What status an error means is Yoga's to say.
    if (type === undefined || result.errors !== undefined)
      return yoga(request, response, { ...context, result });
    await settle(context, response);
    sendResult(response, type, result);
  }

  async function openFor(request: Request, response: Response): Promise<Context> {
    try {
      return await open(request, response);
    } catch (error) {
      const isMissing = error instanceof UnauthenticatedError && !error.tokenSent;
      if (!isMissing || !openIntrospection || !(await asksIntrospection(request, response))) throw error;
      return open(request, response, anonymous);
    }
  }
}

/** Without a token whatever is not plainly introspection is refused as such, unreadable requests too. */
async function asksIntrospection(request: Request, response: Response): Promise<boolean> {
  try {
    const query =
      request.method === 'POST'
        ? valueAt(await readJson(request, response), ['query'])
        : searchOf(request).get('query');
    return typeof query === 'string' && isIntrospection(parseDocument(query));
  } catch {
    return false;
  }
}

/**
 * The parameters of a request without a body. Yoga would answer an internal error where one is not JSON.
 * @throws {BadRequestError} where one is not JSON
 */
function parametersOf(request: Request): Record<string, unknown> {
  const query = searchOf(request);
  const entries = [...new Set(query.keys())].map((name) => {
    const text = query.get(name) ?? '';
    return [name, JSON_PARAMETERS.has(name) ? parseJson(text, ['query', name]) : text] as const;
  });
  return Object.fromEntries(entries);
}

function sendResult(response: Response, type: string, result: ExecutionResult): void {
  const text = JSON.stringify(result);
  response.writeHead(200, {
    'Content-Type': `${type}; charset=utf-8`,
    'Content-Length': Buffer.byteLength(text),
  });
  // As text it goes out together with the head, in one write.
  response.end(text);
}

const JSON_PARAMETERS = new Set(['variables', 'extensions']);

function sendError(request: Request, response: Response, error: GatewayError): void {
  const { status, headers } = httpOf(error);
  const type = request.accepts('application/json', 'application/graphql-response+json') || 'application/json';
  response.status(status).set({ ...headers, 'Content-Type': `${type}; charset=utf-8` });
  response.end(JSON.stringify({ errors: [shownError(toGraphQLError(error))] }));
}
