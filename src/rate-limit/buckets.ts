import { LRUCache } from 'lru-cache';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Bucket } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Limits, PointCounters } from './point-counters.ts';

/** The state of a bucket after a charge: its limit, the points left, and the seconds until all are available again. */
export type Quota = { limit: number; remaining: number; resetSeconds: number };

/** The rate limit charges of a request, written by the limiter and read for the quota headers. */
export type Charges = {
  /** The bucket with the fewest points left of those charged or found empty; absent if none of them has a limit. */
  quota?: Quota;
  /** Whether the limiter has charged or rejected the request, so that `chargeMinimum` charges nothing. */
  wasCharged: boolean;
  /** Points charged before the operation ran, for root fields that have not run yet. */
  readonly prepaid: Record<Bucket, number>;
};

/** Maximum number of cached empty buckets. For a cached bucket, `chargePoints` returns 0 without asking Redis. */
const MAX_CACHED = 10_000;

/** The charged user, and the charges of the request. */
export type Caller = { readonly viewer: Viewer; readonly charges: Charges };

/** Creates the users' buckets of points. Caches empty buckets until they reset. */
export function createBuckets(limits: Limits, counters: PointCounters) {
  const exhausted = new LRUCache<string, number>({ max: MAX_CACHED });

  /** Returns the quota of a bucket that is known to be empty; undefined for other buckets. */
  function findEmptyQuota(bucket: Bucket, userId: string): Quota | undefined {
    const msLeft = (exhausted.get(`${bucket}:${userId}`) ?? 0) - Date.now();
    if (msLeft <= 0) return undefined;
    return { limit: limits[bucket], remaining: 0, resetSeconds: Math.ceil(msLeft / 1000) };
  }

  /** Records the result of a counter for the quota headers, and caches the bucket if it is empty. */
  function record(charges: Charges, bucket: Bucket, userId: string, response: RateLimiterRes): void {
    const { remainingPoints: remaining, msBeforeNext } = response;
    if (remaining <= 0) exhausted.set(`${bucket}:${userId}`, Date.now() + msBeforeNext);
    const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    keepTightest(charges, { limit: limits[bucket], remaining: Math.max(0, remaining), resetSeconds });
  }

  /** Charges points to a bucket and returns how many of them were available. */
  async function chargePoints(
    bucket: Bucket,
    { viewer: { userId }, charges }: Caller,
    points: number,
  ): Promise<number> {
    const limit = limits[bucket];
    if (limit === 0) return points;
    const empty = findEmptyQuota(bucket, userId);
    if (empty !== undefined) {
      keepTightest(charges, empty);
      return 0;
    }
    const response = await counters[bucket].consume(userId, points).catch((over: unknown) => over);
    if (!(response instanceof RateLimiterRes)) throw response;
    record(charges, bucket, userId, response);
    const available = limit - (response.consumedPoints - points);
    return Math.min(Math.max(available, 0), points);
  }

  /** Charges points to a bucket without waiting for the result. The quota headers include them. */
  function chargeInBackground(bucket: Bucket, { viewer: { userId }, charges }: Caller, points: number): void {
    if (limits[bucket] === 0) return;
    if (charges.quota) charges.quota.remaining = Math.max(0, charges.quota.remaining - points);
    // The headers may have been sent by then, so `record` gets a copy of the charges and updates only the cache of
    // empty buckets. The reply does not depend on the counter, so a failure is ignored.
    counters[bucket].consume(userId, points).then(
      (response) => record({ ...charges }, bucket, userId, response),
      (over: unknown) => over instanceof RateLimiterRes && record({ ...charges }, bucket, userId, over),
    );
  }

  return { findEmptyQuota, chargePoints, chargeInBackground };
}

/** Keeps the quota with the fewest remaining points for the quota headers. */
export function keepTightest(charges: Charges, quota: Quota): void {
  if (charges.quota === undefined || quota.remaining < charges.quota.remaining) charges.quota = quota;
}
