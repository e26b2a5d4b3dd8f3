import { addJitter } from './retry-delay.ts';

/** The first and the longest pause in milliseconds, before jitter. Each pause is twice as long as the one before. */
type Pauses = { readonly first: number; readonly max: number };

const whileUnavailable: Pauses = { first: 1000, max: 60_000 };
const whileMisconfigured: Pauses = { first: 60_000, max: 600_000 };

/** A failure of the provider as a whole. */
type ProviderFailure = { needsOperator: boolean; retryAfterSeconds?: number | undefined };

/** Whether a provider accepts messages. `now` is the time of a monotonic clock in milliseconds. */
export type ProviderHealth = {
  /**
   * Returns how many more messages may be sent: any number before a pause, 0 during it, then one at a time until the
   * provider accepts or permanently rejects a message, which shows that it works. `running` is the number of messages
   * that are being prepared or sent.
   */
  countAllowed(now: number, running: number): number;
  /** Records that the provider works, which resets the failures unless a pause is running. */
  recordSuccess(now: number): void;
  /**
   * Records a failure, which may pause the provider. A failure during a pause may extend it, but does not double it.
   */
  recordFailure(failure: ProviderFailure, now: number): void;
  /** The end of the current or last pause; undefined before the first pause and after a recovery. */
  readonly pausedUntil: number | undefined;
};

/**
 * Creates the health of a provider that has not failed yet. Without `needsOperator` or `retryAfterSeconds`, it is
 * paused only after `minFailures` consecutive failures, because a busy provider fails occasionally.
 */
export function createProviderHealth(
  minFailures: number,
  random: () => number = Math.random,
): ProviderHealth {
  /** Failures since the last success, and the consecutive pauses of the same kind, each twice as long as the last. */
  let failures = 0;
  let pauses = 0;
  let pausedUntil: number | undefined;
  let needsOperator = false;
  const isPaused = (now: number) => pausedUntil !== undefined && now < pausedUntil;

  return {
    countAllowed(now, running) {
      if (pausedUntil === undefined) return Number.POSITIVE_INFINITY;
      return isPaused(now) || running > 0 ? 0 : 1;
    },
    recordSuccess(now) {
      if (isPaused(now)) return;
      failures = 0;
      pauses = 0;
      pausedUntil = undefined;
      needsOperator = false;
    },
    recordFailure(failure, now) {
      failures += 1;
      const isCertain = failure.needsOperator || failure.retryAfterSeconds !== undefined;
      if (pausedUntil === undefined && !isCertain && failures < minFailures) return;
      const wasPaused = isPaused(now);
      const neededOperator = needsOperator;
      // During a pause that needs an operator, a message that was sent earlier may fail for another reason. The pause
      // still needs an operator.
      needsOperator = failure.needsOperator || (wasPaused && neededOperator);
      // When the kind changes, the pauses start again with the shortest.
      if (needsOperator !== neededOperator) pauses = 0;
      if (pauses === 0 || !wasPaused) pauses += 1;
      const { first, max } = needsOperator ? whileMisconfigured : whileUnavailable;
      const pause = addJitter(Math.min(first * 2 ** (pauses - 1), max), random);
      const least = (failure.retryAfterSeconds ?? 0) * 1000;
      pausedUntil = Math.max(pausedUntil ?? 0, now + Math.max(pause, least));
    },
    get pausedUntil() {
      return pausedUntil;
    },
  };
}
