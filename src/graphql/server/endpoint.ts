import type { IncomingMessage, ServerResponse } from 'node:http';
import Negotiator from 'negotiator';
import type { Context, HandleRequest } from '../../context.ts';
import { BadRequestError, ValidationError } from '../../errors/gateway-errors.ts';
import { toIssues } from '../../errors/validation-issues.ts';
import { Heartbeats } from '../../http/heartbeats.ts';
import { parseJson, readJson } from '../../http/read-json.ts';
import { requestQuery } from '../../http/request-target.ts';
import { sendText } from '../../http/send-text.ts';
import { lazy } from '../../values/lazy.ts';
import { parseDocument } from '../execution/documents.ts';
import { type Engine, Parameters } from '../execution/engine.ts';
import { isIntrospection } from '../execution/operation.ts';
import { EVENT_STREAM, sendEvents } from './event-stream.ts';
import { negotiateResultType } from './media-type.ts';
import type { createResponder, ExecutionOutcome } from './yoga.ts';

/** The dependencies of the GraphQL endpoint. */
export type GraphQLOptions = {
  engine: Engine;
  handle: HandleRequest;
  /** Creates, on first use, the responder that sends replies with Yoga. */
  openResponder(): Promise<ReturnType<typeof createResponder>>;
  /** Whether introspection is allowed without a token. */
  allowsAnonymousIntrospection: boolean;
};

/**
 * Creates the GraphQL endpoint. It checks the token, reads the parameters, and runs the operation. It sends results
 * without errors itself because that is faster, and event streams because Yoga needs twice the memory for them. Yoga
 * sends the rest: errors, results with errors, and the result of a query or mutation if the client accepts only
 * `text/event-stream`.
 */
export function createGraphQLEndpoint(options: GraphQLOptions) {
  const { engine, handle, openResponder, allowsAnonymousIntrospection } = options;
  const heartbeats = new Heartbeats();

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method } = request;
    // The reply may contain a credential, and caches may store replies to GET.
    if (method === 'GET') response.setHeader('Cache-Control', 'no-store');
    const read = lazy(() => readParameters(request));
    const outcome = await handle<ExecutionOutcome | Send>(request, response, {
      async run(context) {
        context.rateLimiter.throwIfExhausted(context);
        if (method !== 'POST' && method !== 'GET') return { kind: 'unsupportedMethod' };
        if (!acceptsReply(request)) return { kind: 'notAcceptable' };
        return runOperation(request, response, await read(), context);
      },
      refuse: (error) => ({ kind: 'refused', error }),
      // If a request without a token cannot be parsed, the missing token is reported.
      allowsAnonymous: async () => allowsAnonymousIntrospection && asksIntrospection(read),
    });
    if (typeof outcome === 'function') return outcome();
    const respond = await openResponder();
    await respond(request, response, { outcome });
  };

  async function runOperation(
    request: IncomingMessage,
    response: ServerResponse,
    parameters: Parameters,
    context: Context,
  ): Promise<ExecutionOutcome | Send> {
    const allowed = { mutation: request.method === 'POST', subscription: acceptsEvents(request) };
    const reply = await engine.run(parameters, context, allowed);
    if ('results' in reply) return () => sendEvents(reply, response, heartbeats);
    const type = negotiateResultType(request.headers.accept);
    if (reply.errors !== undefined || type === undefined) {
      return { kind: 'executed', query: parameters.query, reply };
    }
    const text = JSON.stringify(reply);
    return () => sendText(response, 200, type, text);
  }
}

/** A media range with a parameter matches only types with the same parameter (RFC 9110, section 12.5.1). */
const eventStreams = [EVENT_STREAM, `${EVENT_STREAM};charset=utf-8`];

function acceptsEvents(request: IncomingMessage): boolean {
  return new Negotiator(request).mediaType(eventStreams) !== undefined;
}

/** Whether the client accepts a media type in which a reply or a stream can be sent. */
function acceptsReply(request: IncomingMessage): boolean {
  return negotiateResultType(request.headers.accept) !== undefined || acceptsEvents(request);
}

/** Sends a reply without Yoga. Never rejects. */
type Send = () => Promise<void> | void;

function asksIntrospection(read: () => Promise<Parameters>): Promise<boolean> {
  return read()
    .then(({ query }) => isIntrospection(parseDocument(query)))
    .catch(() => false);
}

/** Reads the parameters of a request. @throws {BadRequestError} if they cannot be read or are invalid */
async function readParameters(request: IncomingMessage): Promise<Parameters> {
  const sent = request.method === 'POST' ? await readJson(request) : parseQueryParameters(request);
  const parsed = Parameters.safeParse(sent);
  if (parsed.success) return parsed.data;
  // Only the message, because the paths of the issues can contain keys from the request.
  throw new BadRequestError(new ValidationError(toIssues(parsed, sent, ['parameters'])).message);
}

/** Parses the parameters in a query string. @throws {BadRequestError} if a parameter is not valid JSON */
function parseQueryParameters(request: IncomingMessage): Record<string, unknown> {
  const query = requestQuery(request);
  const entries = [...new Set(query.keys())].map((name) => {
    const text = query.get(name) ?? '';
    const isJson = name === 'variables' || name === 'extensions';
    return [name, isJson ? parseJson(text, ['query', name]) : text] as const;
  });
  return Object.fromEntries(entries);
}
