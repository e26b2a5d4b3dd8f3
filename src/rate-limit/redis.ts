import { Redis } from 'ioredis';

/** A command that takes longer fails, so that no request waits longer for a counter. */
const TIMEOUT_MS = 500;

const MAX_RETRY_MS = 2000;

/**
 * Connects in the background, and reconnects after a disconnection. Meanwhile commands fail at once, so that callers
 * can fall back. A Redis that stops responding is disconnected, so that only the commands of that moment wait for it.
 */
export function openRedis(url: string): Redis {
  const redis = new Redis(url, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    connectTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
    disconnectTimeout: TIMEOUT_MS,
    retryStrategy: (attempt) => Math.min(attempt * 50, MAX_RETRY_MS),
  });
  // Without a listener ioredis prints every error.
  return redis.on('error', () => undefined);
}
