import type { IncomingMessage, ServerResponse } from 'node:http';
import { isAsyncIterable } from '@graphql-tools/utils';
import { anonymous } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import { type GatewayError, UnauthenticatedError } from '../errors.ts';
import { valueAt } from '../faults.ts';
import { accepts } from '../http/accept.ts';
import { searchOf } from '../http/address.ts';
import { parseJson, readJson } from '../http/body.ts';
import { sendText } from '../http/reply.ts';
import { parseDocument } from './document.ts';
import { httpOf, shownError, toGraphQLError } from './gateway-error.ts';
import { resultTypeOf } from './media-type.ts';
import { isIntrospection } from './operation.ts';
import type { Run } from './run.ts';
import { EVENT_STREAM, sendEvents } from './sse.ts';
import type { createGraphQLServer } from './yoga.ts';

/** The address of the GraphQL face. */
export const GRAPHQL_PATH = '/graphql';

/** What the GraphQL face needs of the gateway. */
export type GraphQLOptions = {
  run: Run;
  /** Opens what answers whatever did not simply go well. */
  openYoga(): Promise<ReturnType<typeof createGraphQLServer>>;
  /** Whether introspection needs no token. */
  openIntrospection: boolean;
  /** Authenticates a request and opens its context; for `anonymous` it only opens one. */
  open(request: IncomingMessage, response: ServerResponse, as?: typeof anonymous): Promise<Context>;
  settle(context: Context, response: ServerResponse): Promise<void>;
  fail(error: unknown, response: ServerResponse): GatewayError;
};

/**
 * The GraphQL face: the token first, then the body, then the operation. What went well is written here; event streams
 * too, for Yoga's hold more than twice the memory. All else, and every error, is answered by Yoga.
 */
export function createGraphQLHandler(options: GraphQLOptions) {
  const { run, openYoga, openIntrospection, open, settle, fail } = options;

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let context: Context | undefined;
    let reading: Promise<unknown> | undefined;
    const read = () => {
      reading ??= readParameters(request, response);
      return reading;
    };
    try {
      context = await openFor(request, response, read);
      await answer(request, response, await read(), context);
    } catch (error) {
      if (context !== undefined) await settle(context, response);
      sendError(request, response, fail(error, response));
    }
  };

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    parameters: unknown,
    context: Context,
  ): Promise<void> {
    const { accept } = request.headers;
    const allowed = { mutation: request.method === 'POST', events: accepts(accept, EVENT_STREAM) };
    const result = await run(parameters, context, allowed);
    if (isAsyncIterable(result) && allowed.events) {
      await settle(context, response);
      return sendEvents(result, response, context.log);
    }
    const type = resultTypeOf(accept);
    if (
      result !== undefined &&
      !isAsyncIterable(result) &&
      result.errors === undefined &&
      type !== undefined
    ) {
      await settle(context, response);
      return sendText(response, 200, type, JSON.stringify(result));
    }
    // The body has been read already.
    const body = request.method === 'POST' ? { body: JSON.stringify(parameters) } : {};
    const yoga = await openYoga();
    await yoga(
      Object.assign(request, body),
      response,
      result === undefined ? context : { ...context, result },
    );
  }

  async function openFor(
    request: IncomingMessage,
    response: ServerResponse,
    read: () => Promise<unknown>,
  ): Promise<Context> {
    try {
      return await open(request, response);
    } catch (error) {
      const isMissing = error instanceof UnauthenticatedError && !error.tokenSent;
      if (!isMissing || !openIntrospection || !(await asksIntrospection(read))) throw error;
      return open(request, response, anonymous);
    }
  }
}

/** Without a token whatever is not plainly introspection is refused as such, unreadable requests too. */
async function asksIntrospection(read: () => Promise<unknown>): Promise<boolean> {
  try {
    const query = valueAt(await read(), ['query']);
    return typeof query === 'string' && isIntrospection(parseDocument(query));
  } catch {
    return false;
  }
}

/** @throws {BadRequestError} for what cannot be read */
async function readParameters(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  return request.method === 'POST' ? readJson(request, response) : parametersOf(request);
}

/**
 * The parameters of a request without a body. Yoga would answer an internal error where one is not JSON.
 * @throws {BadRequestError} where one is not JSON
 */
function parametersOf(request: IncomingMessage): Record<string, unknown> {
  const query = searchOf(request);
  const entries = [...new Set(query.keys())].map((name) => {
    const text = query.get(name) ?? '';
    return [name, JSON_PARAMETERS.has(name) ? parseJson(text, ['query', name]) : text] as const;
  });
  return Object.fromEntries(entries);
}

const JSON_PARAMETERS = new Set(['variables', 'extensions']);

function sendError(request: IncomingMessage, response: ServerResponse, error: GatewayError): void {
  const { status, headers } = httpOf(error);
  const type = resultTypeOf(request.headers.accept) ?? 'application/json';
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  const text = JSON.stringify({ errors: [shownError(toGraphQLError(error))] });
  sendText(response, status, type, text);
}
