import type { AttemptOutcome } from '../channel.ts';
import { parseRetryAfter } from '../retry-after.ts';
import type { PostResult } from './post.ts';

/** The outcome of sending to an endpoint that `findEndpointIssue` rejects. */
export const refusedEndpoint: AttemptOutcome = {
  kind: 'failed',
  suspendTarget: true,
  reason: 'recipient_rejected',
  providerCode: 'ERR_ENDPOINT_NOT_ALLOWED',
};

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
  const providerCode = String(status);
  const retryAfterSeconds = parseRetryAfter(retryAfter, now);
  const later = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  if (status >= 200 && status < 300) return { kind: 'delivered' };
  if (status >= 500) {
    return {
      kind: 'unavailable',
      needsOperator: false,
      reason: 'provider_unavailable',
      providerCode,
      ...later,
    };
  }
  switch (status) {
    case 401:
    case 403:
      return { kind: 'unavailable', needsOperator: true, reason: 'provider_refused', providerCode };
    case 404:
    case 410:
      return { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected', providerCode };
    case 408:
    case 425:
      return { kind: 'retry', reason: 'provider_unavailable', providerCode, ...later };
    case 429:
      return { kind: 'retry', reason: 'rate_limited', providerCode, ...later };
    default:
      return { kind: 'failed', suspendTarget: false, reason: 'message_rejected', providerCode };
  }
}

function classifyError({ code, wasSent, isAborted }: Extract<PostResult, { kind: 'error' }>): AttemptOutcome {
  if (wasSent && !isAborted) return { kind: 'retry', reason: 'reply_lost', providerCode: code };
  // A host that accepts the message and does not reply in time is unavailable too, but may have the message.
  const reason = wasSent ? 'reply_lost' : 'provider_unavailable';
  return { kind: 'unavailable', needsOperator: false, reason, providerCode: code };
}
