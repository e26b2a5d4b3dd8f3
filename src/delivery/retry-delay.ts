const FIRST_DELAY_MS = 10_000;
const MAX_DELAY_MS = 3_600_000;

/** An attempt that failed. Times are in milliseconds since 1970. */
export type FailedAttempt = {
  /** The number of attempts so far, including this one and those before a manual retry. */
  attempts: number;
  /** The minimum delay: the longer of the provider's `Retry-After` and what is left of its pause. */
  minimumSeconds: number;
  now: number;
  expiresAt: number;
};

/**
 * Returns the milliseconds until the next attempt, undefined if it would begin after the message expires. The delay is
 * 10 seconds after the first attempt and twice as long after each further one, up to an hour, less a random share of up
 * to half, but never less than `minimumSeconds`.
 */
export function computeRetryDelay(
  { attempts, minimumSeconds, now, expiresAt }: FailedAttempt,
  random: () => number = Math.random,
): number | undefined {
  const backoff = addJitter(Math.min(FIRST_DELAY_MS * 2 ** (attempts - 1), MAX_DELAY_MS), random);
  const delay = Math.max(backoff, minimumSeconds * 1000);
  return now + delay > expiresAt ? undefined : delay;
}

/** Subtracts a random share of up to half, so that deliveries that failed together are not retried together. */
export function addJitter(delay: number, random: () => number): number {
  return Math.round((delay / 2) * (1 + random()));
}
