import type { Redis } from 'ioredis';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Bucket } from '../auth/access.ts';

/** Points of one user per minute; 0 turns a limit off. */
export type Limits = Readonly<Record<Bucket, number>>;

/** A counter of points by user for each bucket. */
export type PointCounters = Readonly<Record<Bucket, RateLimiterAbstract>>;

/** The window of all limits. */
export const WINDOW_SECONDS = 60;

/**
 * Creates counters in memory, or in Redis, which all processes share. While Redis is unreachable, they count in memory
 * and call `onFallback` each time.
 */
export function createPointCounters(
  limits: Limits,
  redis: Redis | undefined,
  onFallback: () => void = () => undefined,
): PointCounters {
  class Insurance extends RateLimiterMemory {
    override consume(...args: Parameters<RateLimiterMemory['consume']>) {
      onFallback();
      return super.consume(...args);
    }
  }

  const createCounter = (bucket: Bucket) => {
    const options = { keyPrefix: `rate-limit:${bucket}`, points: limits[bucket], duration: WINDOW_SECONDS };
    return redis === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: new Insurance(options) });
  };
  return {
    reads: createCounter('reads'),
    writes: createCounter('writes'),
    platform: createCounter('platform'),
  };
}
