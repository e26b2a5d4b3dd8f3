import type { Request } from 'express';
import Negotiator from 'negotiator';
import { z } from 'zod';
import { anonymous } from '../../auth/viewer.ts';
import type { Context, GatewayPlugin } from '../../context.ts';
import {
  BadRequestError,
  httpStatus,
  UnauthenticatedError,
  ValidationError,
} from '../../errors/gateway-errors.ts';
import { isRecord } from '../../errors/issue.ts';
import { toIssues } from '../../errors/validation-issues.ts';
import { requestQuery } from '../../http/messages.ts';
import { parseJson, readJson } from '../../http/read-body.ts';
import { contextOf } from '../../server/caller.ts';
import { asGatewayError, withStatus } from '../errors.ts';

/**
 * Reads the parameters of a request, with the limits that REST bodies have too. Rejects a request whose reply the
 * client would not accept (406), which Yoga would notice only after the operation.
 */
export function useRequest(): GatewayPlugin {
  return {
    onRequestParse({ serverContext: { req, res }, setRequestParser, endResponse, fetchAPI }) {
      if (req.method === 'GET') {
        // The reply may contain a credential, and caches may store replies to GET.
        res.setHeader('Cache-Control', 'no-store');
        // Discards the body, which would stay in memory until a live stream ends.
        req.resume();
      }
      if (!isAcceptable(req)) endResponse(new fetchAPI.Response(NOT_ACCEPTABLE.body, NOT_ACCEPTABLE));
      else if (contextOf(res).viewer === anonymous)
        setRequestParser(() => readWithoutToken(req, contextOf(res)));
      else setRequestParser(() => readParameters(req, contextOf(res)));
    },
    onResponse({ serverContext: { res } }) {
      const context = contextOf(res);
      return context.quota.chargeMinimum(context);
    },
  };
}

/**
 * Reads the parameters of a request without a token.
 * @throws {UnauthenticatedError} if the request is malformed
 */
async function readWithoutToken(request: Request, context: Context) {
  try {
    return await readParameters(request, context);
  } catch (error) {
    // The missing token takes precedence over what is wrong with the request.
    if (asGatewayError(error).code !== 'BAD_REQUEST') throw error;
    throw UnauthenticatedError.missingToken('no token, and the request cannot be read');
  }
}

/** Any object. Its properties are checked with the operation. */
const object = z.custom<Record<string, unknown>>(isRecord, 'must be an object');

/** The parameters of a request (GraphQL over HTTP, section 5.1). */
const Parameters = z.strictObject({
  query: z.string(),
  operationName: z.string().nullish(),
  variables: object.nullish(),
  extensions: object.nullish(),
});

/** Reads the parameters of a request. @throws {GraphQLError} with status 400 if they cannot be read or are invalid */
async function readParameters(request: Request, context: Context) {
  try {
    const sent = request.method === 'POST' ? await readJson(request, context) : parseQueryParameters(request);
    const parsed = Parameters.safeParse(sent);
    // Only the message, because the paths of the issues can contain keys from the request.
    if (!parsed.success)
      throw new BadRequestError(new ValidationError(toIssues(parsed, sent, ['parameters'])).message);
    const { query, operationName, variables } = parsed.data;
    return { query, ...(operationName != null && { operationName }), ...(variables && { variables }) };
  } catch (error) {
    // Without a status, Yoga would reply 200 to clients that accept only `application/json`.
    const shown = asGatewayError(error);
    throw withStatus(shown, httpStatus[shown.code]);
  }
}

/** Parses the parameters in a query string. @throws {BadRequestError} if a parameter is not valid JSON */
function parseQueryParameters(request: Request): Record<string, unknown> {
  const query = requestQuery(request);
  const entries = [...new Set(query.keys())].map((name) => {
    const text = query.get(name) ?? '';
    const isJson = name === 'variables' || name === 'extensions';
    return [name, isJson ? parseJson(text, ['query', name]) : text];
  });
  return Object.fromEntries(entries);
}

/** The media types of a result, the preferred one first (GraphQL over HTTP, section 4.2). */
export const resultTypes = ['application/json', 'application/graphql-response+json'] as const;

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/** The media ranges in which Yoga finds a result type. */
const RESULT_RANGE = /^(?:\*|application)\/(?:\*|json|graphql-response\+json)$/;

/** Whether Yoga will find a media type for a result, or the client accepts event streams. */
function isAcceptable(request: Request): boolean {
  const { accept = '*/*' } = request.headers;
  const ranges = accept.toLowerCase().replaceAll(/\s/g, '').split(',');
  // Yoga ignores weights, and ranges with another charset.
  const matchesResult = ranges.some((range) => {
    const [type = '', ...parameters] = range.split(';');
    const charset = parameters.find((parameter) => parameter.includes('charset=')) ?? 'charset=utf-8';
    return RESULT_RANGE.test(type) && charset === 'charset=utf-8';
  });
  return matchesResult || acceptsEvents(request);
}

/** A media range with a parameter matches only types with the same parameter (RFC 9110, section 12.5.1). */
const eventStreams = [EVENT_STREAM, `${EVENT_STREAM};charset=utf-8`];

/** Whether the client accepts server-sent events. */
export function acceptsEvents(request: Pick<Request, 'headers'>): boolean {
  return new Negotiator(request).mediaType(eventStreams) !== undefined;
}

const MUST_ACCEPT =
  'The request must accept application/graphql-response+json, application/json or text/event-stream.';

const NOT_ACCEPTABLE = {
  status: 406,
  headers: { 'Content-Type': 'application/json; charset=utf-8' },
  body: JSON.stringify({ errors: [{ message: MUST_ACCEPT, extensions: { code: 'BAD_REQUEST' } }] }),
};
