import { type RequestOptions, request } from 'node:https';
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

/** The reply to a request, or why there is none. */
export type PostResult =
  | { kind: 'reply'; status: number; retryAfter: string | undefined }
  /** `code` is the Node.js error code. `wasSent` is true if the server may have processed the request. */
  | { kind: 'error'; code: string; wasSent: boolean; isAborted: boolean };

/** How to post. Without a `lookup`, `dns.lookup` resolves the host. */
type PostOptions = Pick<RequestOptions, 'agent' | 'headers' | 'lookup'> & { readonly signal: AbortSignal };

/**
 * Posts a body over HTTPS. Does not follow redirects. Returns at the head of the reply. A body that did not arrive with
 * it is dropped with its connection, because a server could send it forever.
 */
export function post(url: URL, body: Buffer, options: PostOptions): Promise<PostResult> {
  const { promise, resolve } = Promise.withResolvers<PostResult>();
  let wasSent = false;
  const sending = request(url, { ...options, method: 'POST' });
  sending.once('finish', () => {
    wasSent = true;
  });
  sending.once('response', (response) => {
    const { statusCode: status = 0, headers } = response;
    resolve({ kind: 'reply', status, retryAfter: headers['retry-after'] });
    response.on('error', () => {});
    response.resume();
    // A complete reply leaves the connection for the next message.
    setImmediate(() => {
      if (!response.complete) response.destroy();
    });
  });
  sending.on('error', (error: NodeJS.ErrnoException) => {
    const code = error.code ?? error.name;
    resolve({ kind: 'error', code, wasSent, isAborted: options.signal.aborted });
  });
  sending.end(body);
  return promise;
}

/**
 * Classifies the result of sending a push message (RFC 8030, section 5). `now` is in milliseconds since 1970. If the
 * lookup finds no public address (`createPublicLookup`), the request fails unsent and counts as an outage, not as a
 * refusal by the target: suspending the target would delete the subscription because of a DNS error.
 */
export function classifyPostResult(result: PostResult, now: number): AttemptOutcome {
  return result.kind === 'reply' ? classifyReply(result, now) : classifyError(result);
}

function classifyReply(
  { status, retryAfter }: Extract<PostResult, { kind: 'reply' }>,
  now: number,
): AttemptOutcome {
  const code = String(status);
  const seconds = parseRetryAfter(retryAfter, now);
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (isUnclearStatus(status)) return reportUnclearFailure(code, seconds);
  if (status >= 500) return pauseProvider(code, seconds);
  switch (status) {
    case 401:
    case 403:
      return requireOperator(code);
    case 404:
    case 410:
      return rejectTarget(code);
    case 408:
    case 425:
      return retryLater('provider_unavailable', code, seconds);
    case 429:
      return retryLater('rate_limited', code, seconds);
    default:
      return rejectMessage(code);
  }
}

function classifyError({ code, wasSent, isAborted }: Extract<PostResult, { kind: 'error' }>): AttemptOutcome {
  if (wasSent && !isAborted) return retryLater('reply_lost', code);
  // A host that accepts the message and does not reply in time is unavailable too, but may have the message.
  return pauseProvider(code, undefined, wasSent ? 'reply_lost' : 'provider_unavailable');
}
