import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

/** Ends a database session within the timeout, even if the server does not respond. */
export async function endSession(client: pg.Client, timeoutMs: number): Promise<void> {
  await Promise.race([client.end(), pause(timeoutMs, undefined, { ref: false })]).catch(() => undefined);
  client.connection.stream.destroy();
}
