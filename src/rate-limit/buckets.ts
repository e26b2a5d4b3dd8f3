import { LRUCache } from 'lru-cache';
import { RateLimiterRes } from 'rate-limiter-flexible';
import type { Bucket } from '../auth/access.ts';
import type { Viewer } from '../auth/viewer.ts';
import type { Charges, Quota } from './charges.ts';
import type { Counters, Limits } from './counters.ts';

/** Users with an empty bucket that a process remembers, so that it can refuse them without asking Redis. */
const MAX_REMEMBERED = 10_000;

/** Who is charged, and the charges of the request. */
export type Caller = { readonly viewer: Viewer; readonly charges: Charges };

/** The users' buckets of points. Remembers which are empty, so that they are not counted again. */
export function createBuckets(limits: Limits, counters: Counters) {
  const exhausted = new LRUCache<string, number>({ max: MAX_REMEMBERED });

  /** The quota of a bucket that is known to be empty; undefined if it is not. */
  function emptyQuota(bucket: Bucket, userId: string): Quota | undefined {
    const msLeft = (exhausted.get(`${bucket}:${userId}`) ?? 0) - Date.now();
    if (msLeft <= 0) return undefined;
    return { limit: limits[bucket], remaining: 0, resetSeconds: Math.ceil(msLeft / 1000) };
  }

  /** Records what a counter replied: for the reply's headers, and that the bucket is empty. */
  function note(charges: Charges, bucket: Bucket, userId: string, response: RateLimiterRes): void {
    const { remainingPoints: remaining, msBeforeNext } = response;
    if (remaining <= 0) exhausted.set(`${bucket}:${userId}`, Date.now() + msBeforeNext);
    const resetSeconds = Math.max(1, Math.ceil(msBeforeNext / 1000));
    keepTightest(charges, { limit: limits[bucket], remaining: Math.max(0, remaining), resetSeconds });
  }

  /** Takes points from a bucket and returns how many of them were left. */
  async function take(
    bucket: Bucket,
    { viewer: { userId }, charges }: Caller,
    points: number,
  ): Promise<number> {
    const limit = limits[bucket];
    if (limit === 0) return points;
    const empty = emptyQuota(bucket, userId);
    if (empty !== undefined) {
      keepTightest(charges, empty);
      return 0;
    }
    const response = await counters[bucket].consume(userId, points).catch((over: unknown) => over);
    if (!(response instanceof RateLimiterRes)) throw response;
    note(charges, bucket, userId, response);
    const left = limit - (response.consumedPoints - points);
    return Math.min(Math.max(left, 0), points);
  }

  return { emptyQuota, note, take };
}

/** Keeps the quota with the fewest remaining points, which the reply shows. */
export function keepTightest(charges: Charges, quota: Quota): void {
  if (charges.quota === undefined || quota.remaining < charges.quota.remaining) charges.quota = quota;
}
