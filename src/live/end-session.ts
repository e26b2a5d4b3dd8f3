import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

/** Ends a session in bounded time: a server that is silent does not answer the end of a session either. */
export async function endSession(client: pg.Client, timeoutMs: number): Promise<void> {
  await Promise.race([client.end(), pause(timeoutMs, undefined, { ref: false })]).catch(() => undefined);
  client.connection.stream.destroy();
}
