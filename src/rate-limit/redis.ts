import { Redis } from 'ioredis';

/** Maximum time that a request waits for a counter. */
const TIMEOUT_MS = 500;

const MAX_RETRY_MS = 2000;

/**
 * Connects to Redis in the background, and reconnects when disconnected. Without a connection, commands fail
 * immediately, so that callers can fall back. If Redis stops responding, the connection is closed, so that only pending
 * commands time out.
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
