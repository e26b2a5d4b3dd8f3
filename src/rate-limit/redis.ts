import { Redis } from 'ioredis';
import type { Log } from '../log.ts';

/** Redis is near or it is away: nobody waits longer for a counter. */
const TIMEOUT_MS = 500;

const LONGEST_RETRY_MS = 2000;

/**
 * Connects in the background, again and again where Redis goes away. Commands fail at once meanwhile, so that
 * whoever asks can do without. A Redis that falls silent is away as well: its connection is given up, so that only
 * those who ask at that moment wait for it. Going and coming back are logged, each once.
 */
export function openRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, LONGEST_RETRY_MS),
  });
  let isAway = false;
  redis.on('error', (error) => {
    if (isAway) return;
    isAway = true;
    log.warn({ err: error }, 'Redis is away: rate limits are counted in this process alone');
  });
  redis.on('ready', () => {
    if (isAway) log.info('Redis is back: rate limits are shared again');
    isAway = false;
  });
  return redis;
}
