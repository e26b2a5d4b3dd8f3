import type { Request, Response } from 'express';
import { anonymous } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import { type GatewayError, UnauthenticatedError } from '../errors.ts';
import { valueAt } from '../faults.ts';
import { parseJson, readJson } from '../http/body.ts';
import { searchOf } from '../http/search.ts';
import { parseDocument } from './document.ts';
import { httpOf, shownError, toGraphQLError } from './gateway-error.ts';
import { isIntrospection } from './operation.ts';
import { EVENT_STREAM, sendEvents } from './sse.ts';
import { startSubscription } from './subscribe.ts';
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

/** The GraphQL face: the token first, then the body, then Yoga; subscriptions by streams of our own. */
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

  /** Yoga's event streams hold more than twice the memory of ours; all other replies are Yoga's. */
  async function answer(request: Request, response: Response, parameters: unknown, context: Context) {
    const isKnownMethod = request.method === 'POST' || request.method === 'GET';
    const takesEvents = isKnownMethod && request.accepts(EVENT_STREAM) !== false;
    const started = takesEvents ? await startSubscription(yoga, parameters, context) : undefined;
    if (started === undefined) return yoga(request, response, context);
    if ('refusal' in started) return yoga(request, response, { ...context, refusal: started.refusal });
    await settle(context, response);
    // It has been read, and would be kept for as long as the stream lives.
    request.body = undefined;
    await sendEvents(started.results, response, context.log);
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

const JSON_PARAMETERS = new Set(['variables', 'extensions']);

function sendError(request: Request, response: Response, error: GatewayError): void {
  const { status, headers } = httpOf(error);
  const type = request.accepts('application/json', 'application/graphql-response+json') || 'application/json';
  response.status(status).set({ ...headers, 'Content-Type': `${type}; charset=utf-8` });
  response.end(JSON.stringify({ errors: [shownError(toGraphQLError(error))] }));
}
