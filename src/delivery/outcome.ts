import type { CancelReason, DeliveryFailureReason } from './delivery.enums.ts';

/**
 * Why an attempt failed, with the provider's code: `550 5.1.1`, `410`, `channel_not_found`. Never its text, which may
 * contain an address.
 */
export type AttemptFailure = { reason: DeliveryFailureReason; providerCode: string | null };

/** `isUnclear` means that the reply does not say whether the provider accepted the message. */
type Unaccepted = AttemptFailure & { retryAfterSeconds?: number | undefined; isUnclear?: boolean };

/**
 * A failure of the provider as a whole. `needsOperator` means that waiting will not help, for example because it refuses
 * the credentials.
 */
export type ProviderFailure = { needsOperator: boolean; retryAfterSeconds?: number | undefined };

/** The outcome of an attempt. */
export type AttemptOutcome =
  /** The provider accepted the message. The receipt identifies it in {@link Channel.update}. */
  | { kind: 'delivered'; receipt?: string }
  /** The message must not be sent any more. An earlier attempt may have delivered it, but it was not found. */
  | { kind: 'unwanted'; reason: CancelReason | 'expired'; providerCode: null }
  /** The message may be accepted later, not before `retryAfterSeconds`. */
  | ({ kind: 'retry' } & Unaccepted)
  /** The message will never be accepted. If the target itself is refused, nothing more is sent to it. */
  | ({ kind: 'failed'; suspendTarget: boolean } & AttemptFailure)
  /** The provider currently accepts no messages. */
  | ({ kind: 'unavailable' } & ProviderFailure & Unaccepted);

/** The outcome if the target itself is refused. */
export function rejectTarget(providerCode: string | null): AttemptOutcome {
  return { kind: 'failed', suspendTarget: true, reason: 'recipient_rejected', providerCode };
}

/** The outcome if only this message is refused. */
export function rejectMessage(providerCode: string | null): AttemptOutcome {
  return { kind: 'failed', suspendTarget: false, reason: 'message_rejected', providerCode };
}

/** The outcome if other messages may be accepted meanwhile. */
export function retryLater(
  reason: DeliveryFailureReason,
  providerCode: string | null,
  retryAfterSeconds?: number,
): AttemptOutcome {
  return { kind: 'retry', reason, providerCode, retryAfterSeconds };
}

/** The outcome if the provider currently accepts no messages. */
export function pauseProvider(
  providerCode: string | null,
  retryAfterSeconds?: number,
  reason: DeliveryFailureReason = 'provider_unavailable',
): AttemptOutcome {
  return { kind: 'unavailable', needsOperator: false, reason, providerCode, retryAfterSeconds };
}

/** The outcome if the provider failed, perhaps after it had accepted the message. */
export function reportUnclearFailure(providerCode: string, retryAfterSeconds?: number): AttemptOutcome {
  const failure = { reason: 'provider_unavailable', providerCode, retryAfterSeconds } as const;
  return { kind: 'unavailable', needsOperator: false, ...failure, isUnclear: true };
}

/** Whether a status of HTTP is an error after which the request may have been processed. */
export function isUnclearStatus(status: number): boolean {
  return status >= 500 && status !== 501 && status !== 503;
}

/** The outcome if the provider accepts no messages until an operator corrects the configuration. */
export function requireOperator(providerCode: string | null): AttemptOutcome {
  return { kind: 'unavailable', needsOperator: true, reason: 'provider_refused', providerCode };
}

/** Longer delays are reduced to this, so that a wrong header cannot stop a channel for years. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** The three formats of an HTTP date start with the day of the week (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Parses the header `Retry-After`, a number of seconds or an HTTP date (RFC 9110, section 10.2.3). Returns whole
 * seconds, at most a day; undefined if the header is missing or invalid. `now` is in milliseconds since 1970.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS);
}

/** The oldest format, of asctime(), has no time zone. */
function parseHttpDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Number.NaN;
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
}
