import type { Redis } from 'ioredis';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Bucket } from '../context.ts';

/** Requests of one user a minute; 0 is no limit. */
export type Limits = Readonly<Record<Bucket, number>>;

/** What counts each bucket, by user. */
export type Counters = Readonly<Record<Bucket, RateLimiterAbstract>>;

/** The time that a limit is for. */
export const WINDOW_SECONDS = 60;

/**
 * Counters in memory, or over all processes in Redis; while Redis is away in memory again, which is told each time.
 */
export function createCounters(
  limits: Limits,
  redis: Redis | undefined,
  onFallback: () => void = () => undefined,
): Counters {
  class Insurance extends RateLimiterMemory {
    override consume(...args: Parameters<RateLimiterMemory['consume']>) {
      onFallback();
      return super.consume(...args);
    }
  }

  const counter = (bucket: Bucket) => {
    const options = { keyPrefix: `rate-limit:${bucket}`, points: limits[bucket], duration: WINDOW_SECONDS };
    return redis === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: new Insurance(options) });
  };
  return { reads: counter('reads'), writes: counter('writes'), platform: counter('platform') };
}
