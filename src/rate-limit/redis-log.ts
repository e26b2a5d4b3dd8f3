import type { Redis } from 'ioredis';
import type { Log } from '../log.ts';

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
