import type { IncomingMessage, ServerResponse } from 'node:http';
import { anonymous } from '../../auth/viewer.ts';
import type { Context, RequestHooks } from '../../context.ts';
import { BadRequestError, UnauthenticatedError, ValidationError } from '../../errors/gateway-errors.ts';
import { toIssues } from '../../errors/validation-issues.ts';
import { accepts } from '../../http/accept.ts';
import { requestQuery } from '../../http/address.ts';
import { parseJson, readJson } from '../../http/body.ts';
import { Heartbeats } from '../../http/heartbeats.ts';
import { sendText } from '../../http/reply.ts';
import type { RateLimiter } from '../../rate-limit/rate-limiter.ts';
import { lazy } from '../../values/lazy.ts';
import { parseDocument } from '../execution/documents.ts';
import { type Engine, Parameters } from '../execution/engine.ts';
import { isIntrospection } from '../execution/operation.ts';
import { EVENT_STREAM, sendEvents } from './event-stream.ts';
import { negotiateResultType } from './media-type.ts';
import type { createResponder, Outcome } from './yoga.ts';

/** What the GraphQL API needs of the gateway. */
export type GraphQLOptions = RequestHooks & {
  engine: Engine;
  rateLimiter: Pick<RateLimiter, 'refuseExhausted'>;
  /** Opens the responder for everything but plain successes. */
  openResponder(): Promise<ReturnType<typeof createResponder>>;
  /** Whether introspection needs no token. */
  openIntrospection: boolean;
};

/**
 * The GraphQL endpoint: the token first, then the parameters, then the operation. Plain successes are written here,
 * and event streams too, for which Yoga needs twice the memory. Yoga answers everything else.
 */
export function createGraphQLEndpoint(options: GraphQLOptions) {
  const { engine, rateLimiter, openResponder, openIntrospection, open, settle, fail } = options;

  const heartbeats = new Heartbeats();

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // A reply to a GET may hold a credential, and caches may keep it.
    if (request.method === 'GET') response.setHeader('Cache-Control', 'no-store');
    const outcome = await run(request, response);
    if (typeof outcome === 'function') return outcome();
    const respond = await openResponder();
    await respond(request, response, { outcome });
  };

  async function run(request: IncomingMessage, response: ServerResponse): Promise<Outcome | Send> {
    const read = lazy(() => readParameters(request, response));
    let context: Context | undefined;
    try {
      context = await openFor(request, response, read);
      rateLimiter.refuseExhausted(context);
      // Yoga refuses other methods.
      if (request.method !== 'POST' && request.method !== 'GET') return {};
      return await answer(request, response, await read(), context);
    } catch (error) {
      return { refusal: fail(error, response) };
    } finally {
      if (context !== undefined) await settle(context, response);
    }
  }

  async function answer(
    { method, headers: { accept } }: IncomingMessage,
    response: ServerResponse,
    parameters: Parameters,
    context: Context,
  ): Promise<Outcome | Send> {
    const allowed = { mutation: method === 'POST', subscription: accepts(accept, EVENT_STREAM) };
    const reply = await engine.run(parameters, context, allowed);
    if ('results' in reply) return () => sendEvents(reply, response, heartbeats);
    const type = negotiateResultType(accept);
    if (reply.errors !== undefined || type === undefined) return { query: parameters.query, reply };
    const text = JSON.stringify(reply);
    return () => sendText(response, 200, type, text);
  }

  /** Without a token everything that is not plainly introspection is refused as such, unreadable requests too. */
  async function openFor(
    request: IncomingMessage,
    response: ServerResponse,
    read: () => Promise<Parameters>,
  ) {
    try {
      return await open(request, response);
    } catch (error) {
      const isMissing = error instanceof UnauthenticatedError && !error.tokenSent;
      if (!isMissing || !openIntrospection || !(await asksIntrospection(read))) throw error;
      return open(request, response, anonymous);
    }
  }
}

/** Sends a reply that needs nothing of Yoga. Never rejects. */
type Send = () => Promise<void> | void;

function asksIntrospection(read: () => Promise<Parameters>): Promise<boolean> {
  return read()
    .then(({ query }) => isIntrospection(parseDocument(query)))
    .catch(() => false);
}

/** @throws {BadRequestError} if the request cannot be read, or has parameters of another shape */
async function readParameters(request: IncomingMessage, response: ServerResponse): Promise<Parameters> {
  const sent = request.method === 'POST' ? await readJson(request, response) : parseQueryParameters(request);
  const parsed = Parameters.safeParse(sent);
  if (parsed.success) return parsed.data;
  // The message of a validation error repeats no key that the caller chose.
  throw new BadRequestError(new ValidationError(toIssues(parsed, sent, ['parameters'])).message);
}

/** The parameters of a request without a body. @throws {BadRequestError} if one is not JSON */
function parseQueryParameters(request: IncomingMessage): Record<string, unknown> {
  const query = requestQuery(request);
  const entries = [...new Set(query.keys())].map((name) => {
    const text = query.get(name) ?? '';
    const isJson = name === 'variables' || name === 'extensions';
    return [name, isJson ? parseJson(text, ['query', name]) : text] as const;
  });
  return Object.fromEntries(entries);
}
