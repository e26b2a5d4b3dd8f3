import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import type { Context, HandleRequest } from '../../context.ts';
import { BadRequestError, ValidationError } from '../../errors/gateway-errors.ts';
import { toIssues } from '../../errors/validation-issues.ts';
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
export type GraphQLOptions = {
  engine: Engine;
  rateLimiter: Pick<RateLimiter, 'refuseExhausted'>;
  handle: HandleRequest;
  /** Opens the responder for everything but plain successes. */
  openResponder(): Promise<ReturnType<typeof createResponder>>;
  /** Whether introspection needs no token. */
  openIntrospection: boolean;
};

/**
 * The GraphQL endpoint: the token first, then the parameters, then the operation. Plain successes are written here,
 * and event streams too, for which Yoga needs twice the memory. Yoga writes all other replies.
 */
export function createGraphQLEndpoint(options: GraphQLOptions) {
  const { engine, rateLimiter, handle, openResponder, openIntrospection } = options;
  const heartbeats = new Heartbeats();

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method } = request;
    // A reply to a GET may hold a credential, and caches may keep it.
    if (method === 'GET') response.setHeader('Cache-Control', 'no-store');
    const read = lazy(() => readParameters(request, response));
    const outcome = await handle<Outcome | Send>(request, response, {
      async run(context) {
        rateLimiter.refuseExhausted(context);
        // Yoga refuses other methods.
        if (method !== 'POST' && method !== 'GET') return {};
        // Refused with 406 by Yoga, whatever the result would be. Nothing is executed.
        if (!acceptsReply(request)) return { reply: {} };
        return run(request, response, await read(), context);
      },
      refuse: (refusal) => ({ refusal }),
      // Without a token any other request is refused for that, even if it cannot be read.
      allowsAnonymous: async () => openIntrospection && asksIntrospection(read),
    });
    if (typeof outcome === 'function') return outcome();
    const respond = await openResponder();
    await respond(request, response, { outcome });
  };

  async function run(
    request: IncomingMessage,
    response: ServerResponse,
    parameters: Parameters,
    context: Context,
  ): Promise<Outcome | Send> {
    const allowed = { mutation: request.method === 'POST', subscription: acceptsEvents(request) };
    const reply = await engine.run(parameters, context, allowed);
    if ('results' in reply) return () => sendEvents(reply, response, heartbeats);
    const type = negotiateResultType(request.headers.accept);
    if (reply.errors !== undefined || type === undefined) return { query: parameters.query, reply };
    const text = JSON.stringify(reply);
    return () => sendText(response, 200, type, text);
  }
}

/** A media type with a parameter is accepted only as a whole (RFC 9110, section 12.5.1). */
const eventStreams = [EVENT_STREAM, `${EVENT_STREAM};charset=utf-8`];

function acceptsEvents(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaType(eventStreams) !== undefined;
}

/** Whether the client accepts a media type in which a reply or a stream can be sent. */
function acceptsReply(request: IncomingMessage): boolean {
  return negotiateResultType(request.headers.accept) !== undefined || acceptsEvents(request);
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
