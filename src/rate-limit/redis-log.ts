import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';

/** Logs each disconnection and reconnection once, beginning with the next attempt to connect. */
export function logConnection(redis: Redis, log: Log): void {
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
}
