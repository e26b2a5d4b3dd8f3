import { z } from 'zod';
import type { ChatConfig } from '../../config.ts';
import { readSystemErrorCode } from '../../errors/failure.ts';
import { readResponseText } from '../../values/response-text.ts';
import {
  type AttemptOutcome,
  isUnclearStatus,
  parseRetryAfter,
  pauseProvider,
  rejectMessage,
  rejectTarget,
  reportUnclearFailure,
  requireOperator,
  retryLater,
} from '../outcome.ts';

/** The reply of the chat API, or the failure to receive it. */
type ApiReply =
  | { kind: 'reply'; status: number; retryAfter: string | null; body: string }
  /** No connection was established, so nothing was sent. */
  | { kind: 'unreachable'; code: string | null }
  /** The request timed out. It may have been sent. */
  | { kind: 'timeout' }
  /** The request may have been sent, and the reply was not received completely. */
  | { kind: 'lost' };

/** Slack repeats the message in its reply, with up to 100 bytes for one emoji. */
const MAX_REPLY_BYTES = 256 * 1024;

/**
 * Calls a method of the chat API. Parameters are sent as JSON, or as a form if they are `URLSearchParams`, because not
 * all methods accept JSON. Does not follow redirects, which would send the token to another address.
 */
export async function callApi(
  { apiUrl, token }: Pick<ChatConfig, 'apiUrl' | 'token'>,
  method: string,
  parameters: object,
  signal: AbortSignal,
  maxReplyBytes = MAX_REPLY_BYTES,
): Promise<ApiReply> {
  const authorization = { Authorization: `Bearer ${token.reveal()}` };
  const content =
    parameters instanceof URLSearchParams
      ? { headers: authorization, body: parameters }
      : {
          headers: { ...authorization, 'Content-Type': 'application/json; charset=utf-8' },
          body: JSON.stringify(parameters),
        };
  try {
    const response = await fetch(`${apiUrl}/${method}`, {
      method: 'POST',
      ...content,
      redirect: 'manual',
      signal,
    });
    const body = await readResponseText(response, maxReplyBytes);
    if (body === undefined) return { kind: 'lost' };
    return { kind: 'reply', status: response.status, retryAfter: response.headers.get('retry-after'), body };
  } catch (error) {
    if (signal.aborted) return { kind: 'timeout' };
    // `fetch` wraps the error of the connection.
    const cause = error instanceof Error ? error.cause : undefined;
    return isConnectionFailure(cause)
      ? { kind: 'unreachable', code: readSystemErrorCode(cause) ?? null }
      : { kind: 'lost' };
  }
}

/** Errors of DNS, TCP and TLS. */
const CONNECTION_FAILURE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|^ERR_SSL_|^EPROTO$|CERT|UNABLE_TO_/;

/** Whether an error occurred before the request was sent. */
function isConnectionFailure(cause: unknown): boolean {
  // Node.js reports failed connections to a host with several addresses as an `AggregateError`.
  return cause instanceof AggregateError || CONNECTION_FAILURE.test(readSystemErrorCode(cause) ?? '');
}

/* Error codes are documented with each method of Slack's Web API, such as chat.postMessage. */

/** Errors of the member. */
const memberErrors = listCodes(`
  cannot_dm_bot channel_not_found is_archived not_in_channel user_disabled user_not_found user_not_visible`);

/** Errors of the token or the app, which only an operator can correct. */
const operatorErrors = listCodes(`
  accesslimited account_inactive deprecated_endpoint ekm_access_denied enterprise_is_restricted
  invalid_auth method_deprecated missing_scope not_allowed_token_type not_authed org_login_required
  token_expired token_revoked two_factor_setup_required unknown_method`);

/**
 * Errors that an operator can correct, and that may concern only this member or conversation: messages to others are
 * still sent.
 */
const permissionErrors = listCodes(
  `access_denied messages_tab_disabled no_permission restricted_action team_access_not_granted`,
);

/** Errors of rate and message limits. */
const limitErrors = new Set(['message_limit_exceeded', 'rate_limited', 'ratelimited']);

/** Errors of the API itself. */
const temporaryErrors = listCodes(`request_timeout service_unavailable team_added_to_org`);

/** Errors of the API itself, after which some of the call may have been executed. */
const unclearErrors = listCodes(`fatal_error internal_error`);

function listCodes(codes: string): ReadonlySet<string> {
  return new Set(codes.trim().split(/\s+/));
}

/** Slack's name for a deleted account: the token's own account, or the member's. */
export const ACCOUNT_INACTIVE = 'account_inactive';

const ErrorCode = z.string().regex(/^\w{1,64}$/);
const Refusal = z.object({ ok: z.literal(false), error: ErrorCode.catch('unknown_error') });
const Acceptance = z.object({ ok: z.literal(true) });
const Word = z.string().regex(/^\S{1,64}$/);
/** The channel of the direct messages, and the message's timestamp, which is its ID. */
const Place = z.object({ channel: Word, ts: Word });
const Posted = Acceptance.extend(Place.shape);
const Body = z.union([Posted, Acceptance, Refusal]);

/** Classifies the result of a call. `now` is in milliseconds since 1970. */
export function classifyReply(reply: ApiReply, now: number): AttemptOutcome {
  switch (reply.kind) {
    case 'unreachable':
      return pauseProvider(reply.code);
    // The message may have been posted, so the user may receive it twice.
    case 'timeout':
      return pauseProvider(null, undefined, 'reply_lost');
    case 'lost':
      return retryLater('reply_lost', null);
    case 'reply':
      return classifyHttpReply(reply, now);
  }
}

type HttpReply = Extract<ApiReply, { kind: 'reply' }>;

function classifyHttpReply({ status, retryAfter, body }: HttpReply, now: number): AttemptOutcome {
  const result = parseBody(body);
  const error = result?.ok === false ? result.error : null;
  const code = error ?? `HTTP ${status}`;
  const seconds = parseRetryAfter(retryAfter, now);
  if (status === 429 || limitErrors.has(code)) return pauseProvider(code, seconds, 'rate_limited');
  if (unclearErrors.has(code) || isUnclearStatus(status)) return reportUnclearFailure(code, seconds);
  if (status >= 500 || status === 408 || temporaryErrors.has(code)) return pauseProvider(code, seconds);
  if (error !== null) return classifyError(error);
  if (status < 200 || status > 299) return requireOperator(code);
  if (result === undefined) return retryLater('reply_lost', null);
  return 'ts' in result ? { kind: 'delivered', receipt: formatReceipt(result) } : { kind: 'delivered' };
}

function parseBody(body: string): z.output<typeof Body> | undefined {
  return parseReply(body, Body);
}

/** Parses the JSON of a reply; undefined if it has another shape. */
export function parseReply<Shape extends z.ZodType>(body: string, shape: Shape): z.output<Shape> | undefined {
  try {
    return shape.safeParse(JSON.parse(body)).data;
  } catch {
    return undefined;
  }
}

/** An unknown error is most likely a problem of this message, so other messages are still sent. */
function classifyError(error: string): AttemptOutcome {
  if (memberErrors.has(error)) return rejectTarget(error);
  if (operatorErrors.has(error)) return requireOperator(error);
  if (permissionErrors.has(error)) return retryLater('provider_refused', error);
  return rejectMessage(error);
}

/** Where a message was posted. */
type Place = z.output<typeof Place>;

export function formatReceipt({ channel, ts }: Place): string {
  return `${channel} ${ts}`;
}

/** Parses the receipt of a posted message; undefined for any other string. */
export function parseReceipt(receipt: string): Place | undefined {
  const [channel, ts, ...others] = receipt.split(' ');
  return others.length === 0 ? Place.safeParse({ channel, ts }).data : undefined;
}
