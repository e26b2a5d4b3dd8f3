import { LRUCache } from 'lru-cache';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible';
import type { Bucket } from '../auth/access.ts';
import { anonymous, type Viewer } from '../auth/viewer.ts';
import { RateLimitedError } from '../errors/gateway-errors.ts';
import { createAnonymousLimiter, type LimiterName, type Limiters, type Limits } from './limiters.ts';

/** The state of a bucket after a charge: its limit, the points left, and the seconds until all are available again. */
export type QuotaState = {
  readonly limit: number;
  readonly remaining: number;
  readonly resetSeconds: number;
};

/** The charges of one request. */
export type Charges = {
  /** The state of the bucket with the fewest points left of those charged or found empty. */
  tightest?: QuotaState;
  /** Called with each new `tightest`, for the quota headers. */
  readonly onChange: (state: QuotaState) => void;
  /** The number of root fields that the directive has admitted. */
  admitted: number;
  /** What the request costs if no root field ran. */
  minimum: number;
  /** Whether the request was rejected because its buckets were known to be empty. Such a request costs nothing. */
  isBlocked: boolean;
};

/** The charged user, and the charges of the request. A `Context` can be passed. */
export type Caller = { readonly viewer: Viewer; readonly charges: Charges };

/** The points of all users, over both APIs. */
export type Quota = ReturnType<typeof createQuota>;

/** A REST list costs one point for each started group of this many records that it may have. */
const RECORDS_PER_POINT = 500;

/** A document that is not in the cache costs one point for each group of this many characters. Shorter ones are free. */
const CHARACTERS_PER_POINT = 1024;

/** Introspection costs one point for each started group of this much cost. */
const COST_PER_POINT = 1000;

/** Maximum number of remembered empty buckets. */
const MAX_EMPTY = 10_000;

/**
 * Creates the quota of all users. `@rateLimit` charges root fields (src/graphql/root-fields.ts); the last three functions
 * do the rest.
 */
export function createQuota(limits: Limits, limiters: Limiters) {
  /** When an empty bucket resets, in milliseconds since 1970, by key. */
  const resets = new LRUCache<string, number>({ max: MAX_EMPTY });
  const anonymousDocuments = createAnonymousLimiter();
  const limitersByName = new Map<string, RateLimiterAbstract>(Object.entries(limiters));

  function findEmpty(key: string): RateLimiterRes | undefined {
    const msLeft = (resets.get(key) ?? 0) - Date.now();
    return msLeft > 0 ? new RateLimiterRes(0, msLeft) : undefined;
  }

  function rememberIfEmpty(key: string, { remainingPoints, msBeforeNext }: RateLimiterRes): void {
    if (remainingPoints <= 0) resets.set(key, Date.now() + msBeforeNext);
  }

  /** Charges a limiter, unless the bucket is known to be empty. Rejects with the result if too few points are left. */
  async function consume(key: string, points: number): Promise<RateLimiterRes> {
    const empty = findEmpty(key);
    if (empty !== undefined) throw empty;
    const mark = key.indexOf(':');
    const name = key.slice(0, mark);
    const limiter = limitersByName.get(name);
    if (limiter === undefined) throw new Error(`There is no limiter "${name}".`);
    return limiter.consume(key.slice(mark + 1), points);
  }

  /** Records the result of a charge for the quota headers, and remembers the bucket while it is empty. */
  function record({ viewer, charges }: Caller, name: LimiterName, result: RateLimiterRes): void {
    rememberIfEmpty(formatKey(name, viewer), result);
    const remaining = Math.max(0, result.remainingPoints);
    if (charges.tightest !== undefined && charges.tightest.remaining <= remaining) return;
    const limit = limits[name === 'rejected' ? 'reads' : name];
    update(charges, { limit, remaining, resetSeconds: toSeconds(result.msBeforeNext) });
  }

  /** Charges points, and returns the result if too few are left. */
  async function charge(
    caller: Caller,
    name: LimiterName,
    points: number,
  ): Promise<RateLimiterRes | undefined> {
    try {
      record(caller, name, await consume(formatKey(name, caller.viewer), points));
      return undefined;
    } catch (over) {
      if (!(over instanceof RateLimiterRes)) throw over;
      record(caller, name, over);
      return over;
    }
  }

  /** Charges a document without a token. Returns the result if there were too many. */
  function chargeAnonymous(): Promise<RateLimiterRes | undefined> {
    return anonymousDocuments.consume('').then(
      () => undefined,
      (over: RateLimiterRes) => over,
    );
  }

  /**
   * Charges what is done besides root fields: reads, or if too few are left, points of `rejected`. A task token has only
   * one bucket, so that an empty one blocks all its requests. Returns the result if too few are left of either.
   */
  async function chargeWork(caller: Caller, points: number): Promise<RateLimiterRes | undefined> {
    const bucket = findWorkBucket(caller.viewer);
    const over = await charge(caller, bucket, points);
    return over && bucket === 'reads' ? charge(caller, 'rejected', points) : over;
  }

  return {
    limits,
    /** Implements `limiterClass` of the directive, which only calls `consume`. Its keys are made by {@link formatKey}. */
    limiterClass: class extends RateLimiterMemory {
      override consume(key: string, points = 1): Promise<RateLimiterRes> {
        return consume(key, points);
      }
    },
    record,
    /**
     * Rejects a request before anything is done for it, by what is known without asking a limiter.
     * @throws {RateLimitedError} if `bucket`, or without it every bucket that the caller's token can use, is empty, or if
     *   the caller sent too many requests in which no root field ran
     */
    throwIfBlocked(caller: Caller, bucket?: Bucket): void {
      const { viewer, charges } = caller;
      const buckets = bucket === undefined ? listBuckets(viewer) : [bucket];
      const rejected = findEmpty(formatKey('rejected', viewer));
      const empty = buckets.flatMap((name) => {
        const found = findEmpty(formatKey(name, viewer));
        return found ? [{ name, found }] : [];
      });
      if (!rejected && (empty.length === 0 || empty.length < buckets.length)) return;
      for (const { name, found } of empty) record(caller, name, found);
      if (rejected) record(caller, 'rejected', rejected);
      charges.isBlocked = true;
      // Without the limit of rejected requests, the first bucket that resets can be used again.
      const waits = empty.map(({ found }) => found.msBeforeNext);
      throw new RateLimitedError(toSeconds(rejected?.msBeforeNext ?? Math.min(...waits)));
    },
    /**
     * Charges a document that is not in the cache before it is parsed: by its size, or without a token one of the documents
     * that all such callers share.
     * @throws {RateLimitedError} if too few points are left
     */
    async chargeDocument(caller: Caller, characters: number): Promise<void> {
      const { viewer, charges } = caller;
      // A document that costs more than the limit takes all of it.
      const limit = limits[findWorkBucket(viewer)];
      const points = Math.min(limit, Math.floor(characters / CHARACTERS_PER_POINT));
      const isAnonymous = viewer === anonymous;
      if (!isAnonymous && points === 0) return;
      const over = await (isAnonymous ? chargeAnonymous() : chargeWork(caller, points));
      if (over === undefined) return;
      charges.isBlocked = true;
      throw new RateLimitedError(toSeconds(over.msBeforeNext));
    },
    /** Raises the minimum of introspection, which runs without a root field that could be charged. */
    raiseMinimum({ charges }: Caller, cost: number): void {
      charges.minimum = Math.ceil(cost / COST_PER_POINT);
    },
    /** Charges a request in which no root field ran. Never rejects, because its reply does not depend on the charge. */
    chargeMinimum(caller: Caller): Promise<void> | undefined {
      const { viewer, charges } = caller;
      const isCharged = charges.admitted > 0 || charges.isBlocked;
      if (isCharged || viewer === anonymous || limits[findWorkBucket(viewer)] === 0) return undefined;
      return chargeWork(caller, charges.minimum).then(
        () => undefined,
        // A limiter in Redis is insured by one in memory, so this does not happen.
        () => undefined,
      );
    },
    /**
     * Charges the reads that a list of `limit` records costs beyond the first, also if too few are left. Does not wait for
     * the result.
     */
    chargeList({ viewer, charges }: Caller, limit: number): void {
      const points = Math.ceil(limit / RECORDS_PER_POINT) - 1;
      if (points <= 0 || limits.reads === 0) return;
      const { tightest } = charges;
      if (tightest) update(charges, { ...tightest, remaining: Math.max(0, tightest.remaining - points) });
      const key = formatKey('reads', viewer);
      // The reply does not depend on the result.
      consume(key, points).then(
        (result) => rememberIfEmpty(key, result),
        (over: unknown) => over instanceof RateLimiterRes && rememberIfEmpty(key, over),
      );
    },
  };
}

/** Formats the key of a caller's bucket: `reads:alice`. */
export function formatKey(name: LimiterName, viewer: Viewer): string {
  return `${name}:${viewer.caller}`;
}

/** Converts the time until a bucket resets to whole seconds, at least 1. */
export function toSeconds(milliseconds: number): number {
  return Math.max(1, Math.ceil(milliseconds / 1000));
}

/** Returns the bucket that pays for what is done besides root fields. */
function findWorkBucket({ task }: Viewer): Bucket {
  return task ? 'tasks' : 'reads';
}

function update(charges: Charges, state: QuotaState): void {
  charges.tightest = state;
  charges.onChange(state);
}

/** Lists the buckets that a viewer's token can use. */
function listBuckets({ scopes, task }: Viewer): Bucket[] {
  if (task) return ['tasks'];
  const buckets: Bucket[] = [];
  // With `platform:read`, a service can also read the accounts of users, which is charged as reads.
  if (scopes.has('account:read') || scopes.has('platform:read')) buckets.push('reads');
  if (scopes.has('account:write')) buckets.push('writes');
  if ([...scopes].some((scope) => scope.startsWith('platform:'))) buckets.push('platform');
  return buckets;
}
