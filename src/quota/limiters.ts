import type { Redis } from 'ioredis';
import { type RateLimiterAbstract, RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';
import type { Bucket } from '../auth/access.ts';
import type { Log } from '../log.ts';

/** Points of one caller per minute; 0 turns a limit off. */
export type Limits = Readonly<Record<Bucket, number>>;

/** The window of all limits. */
export const WINDOW_SECONDS = 60;

/** A limiter of points by caller for each bucket. */
export type Limiters = Readonly<Record<LimiterName, RateLimiterAbstract>>;

/** `rejected` counts requests in which no root field ran, once no reads are left. Its limit is that of reads. */
export type LimiterName = Bucket | 'rejected';

/**
 * Creates limiters in memory, or in Redis, which all processes share, under keys such as `rate-limit:reads:alice`. While
 * Redis is unreachable, they count in memory and call `onFallback` each time.
 */
export function createLimiters(limits: Limits, redis: Redis | undefined, onFallback: () => void): Limiters {
  class Insurance extends RateLimiterMemory {
    override consume(...args: Parameters<RateLimiterMemory['consume']>) {
      onFallback();
      return super.consume(...args);
    }
  }

  const create = (name: LimiterName, points: number) => {
    const options = { keyPrefix: `rate-limit:${name}`, points, duration: WINDOW_SECONDS };
    return redis === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: new Insurance(options) });
  };
  return {
    reads: create('reads', limits.reads),
    writes: create('writes', limits.writes),
    platform: create('platform', limits.platform),
    tasks: create('tasks', limits.tasks),
    rejected: create('rejected', limits.reads),
  };
}

/** Documents of all callers without a token in a minute. */
const ANONYMOUS_DOCUMENTS = 30;

/** Creates the limiter of the documents that this process parses for callers without a token. */
export function createAnonymousLimiter(): RateLimiterMemory {
  return new RateLimiterMemory({ points: ANONYMOUS_DOCUMENTS, duration: WINDOW_SECONDS });
}

/** Maximum time that a request waits for Redis. */
const TIMEOUT_MS = 500;

const MAX_RETRY_MS = 2000;

/**
 * Connects to Redis in the background, and reconnects when disconnected. Without a connection, commands fail
 * immediately, so that limiters can fall back. If Redis stops responding, the connection is closed, so that only pending
 * commands time out.
 */
export async function openRedis(url: string): Promise<Redis> {
  // Loads the client only if Redis is configured.
  const { Redis } = await import('ioredis');
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_MS),
  });
  // Without a listener, ioredis prints every error.
  return redis.on('error', () => undefined);
}

/** Logs when Redis becomes unreachable, and when it is connected again. */
export function logConnection(redis: Redis, log: Log): void {
  let isDisconnected = false;
  redis.on('error', (error) => {
    if (isDisconnected) return;
    isDisconnected = true;
    log.warn({ err: error }, 'Redis is unreachable; rate limits are counted per process');
  });
  redis.on('ready', () => {
    if (isDisconnected) log.info('Redis is connected again; rate limits are shared');
    isDisconnected = false;
  });
}
