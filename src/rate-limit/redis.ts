import { Redis } from 'ioredis';
import type { Log } from '../log.ts';

/** A command that takes longer fails, so that no request waits longer for a counter. */
const TIMEOUT_MS = 500;

const MAX_RETRY_MS = 2000;

/**
 * Connects in the background, and reconnects after a disconnection. Meanwhile commands fail at once, so that callers
 * can fall back. A Redis that stops responding is disconnected, so that only the commands of that moment wait for it.
 * Each disconnection and reconnection is logged once.
 */
export function openRedis(url: string, log: Log): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_MS),
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
