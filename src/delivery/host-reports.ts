import { LRUCache } from 'lru-cache';
import type { Claim } from './claim.ts';
import { type AttemptOutcome, type ProviderFailure, rejectTarget } from './outcome.ts';

/**
 * The outcomes of the users of a provider that users choose: a push service, or a server of a user. Any user can
 * register a subscription that always fails, so only what several users report counts as a failure of the provider.
 */
export type UserReports = {
  /**
   * Records the outcome of a message. Returns the outcome, or the refusal of its target if the provider refuses the
   * target repeatedly and accepts other users.
   */
  record(claim: Pick<Claim, 'userId' | 'target'>, outcome: AttemptOutcome, now: number): AttemptOutcome;
  /** Returns the failure that enough users report; `undefined` if there is none. */
  findFailure(now: number): ProviderFailure | undefined;
  /** Whether the user's last message failed, however long ago. */
  isFailing(userId: string): boolean;
  /** Lists users whose last message failed, except those who failed first if there are many. */
  listFailing(): string[];
  /** Forgets who failed, because the provider works again. */
  forgetFailures(): void;
};

/** How long the outcome of a user's message counts. */
const REPORT_MS = 300_000;

/** The number of users who must report a failure. They must also be half of those who report anything. */
const MIN_FAILING_USERS = 5;

/** The maximum number of users, and of refused targets, that are remembered for a provider. */
const MAX_REPORTS = 1000;

/** The maximum number of failing users who are listed. */
const MAX_LISTED = 100;

/** A target is suspended after as many refusals in a row, if at least this time is between the first and the last. */
const MIN_REFUSALS = 5;
const MIN_REFUSALS_MS = 600_000;

/** The last outcome of a user. Times are of a monotonic clock, in milliseconds. */
type Report = { at: number; isAccepted: boolean; failure: ProviderFailure | undefined };

/** Refusals of a target in a row, of which the last at `at` was counted. */
type Refusals = { count: number; since: number; at: number };

/** Creates the reports of a provider's users. `now` is the time of a monotonic clock in milliseconds. */
export function createUserReports(): UserReports {
  // Those that changed last come first.
  const reports = new LRUCache<string, Report>({ max: MAX_REPORTS });
  const refusals = new LRUCache<string, Refusals>({ max: MAX_REPORTS });

  const listRecent = (now: number) => [...reports.values()].filter(({ at }) => now - at < REPORT_MS);

  /** Whether a message of another user was accepted after a time. */
  const hasAcceptedOther = (userId: string, after: number) =>
    [...reports].some(([user, { at, isAccepted }]) => user !== userId && isAccepted && at > after);

  /** Counts a refusal only if another user's message was accepted since the last one that was counted. */
  const countRefusal = (target: string, userId: string, now: number): Refusals => {
    const last = refusals.peek(target);
    if (last !== undefined && !hasAcceptedOther(userId, last.at)) return last;
    const next = { count: (last?.count ?? 0) + 1, since: last?.since ?? now, at: now };
    refusals.set(target, next);
    return next;
  };

  return {
    record({ userId, target }, outcome, now) {
      const isAccepted = outcome.kind === 'delivered' || outcome.kind === 'failed';
      const failure = outcome.kind === 'unavailable' ? outcome : undefined;
      reports.set(userId, { at: now, isAccepted, failure });
      if (isAccepted) refusals.delete(target);
      if (!failure?.needsOperator) return outcome;
      const { count, since } = countRefusal(target, userId, now);
      if (count < MIN_REFUSALS || now - since < MIN_REFUSALS_MS) return outcome;
      refusals.delete(target);
      return rejectTarget(failure.providerCode);
    },
    findFailure(now) {
      const recent = listRecent(now);
      const failures = recent.flatMap(({ failure }) => failure ?? []);
      if (failures.length < MIN_FAILING_USERS || failures.length < recent.length / 2) return undefined;
      // No user alone can lengthen the pause of the others.
      const seconds = Math.min(...failures.map(({ retryAfterSeconds = 0 }) => retryAfterSeconds));
      return {
        needsOperator: failures.every(({ needsOperator }) => needsOperator),
        retryAfterSeconds: seconds,
      };
    },
    isFailing: (userId) => reports.peek(userId)?.failure !== undefined,
    listFailing: () =>
      [...reports].flatMap(([user, { failure }]) => (failure ? [user] : [])).slice(0, MAX_LISTED),
    forgetFailures() {
      for (const [user, { failure }] of [...reports]) if (failure !== undefined) reports.delete(user);
    },
  };
}
