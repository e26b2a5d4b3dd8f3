import { Socket } from 'node:net';
import pg from 'pg';
import { breakConnection, endSession } from '../database/pool.ts';
import { CHANNEL } from './announcement.ts';

/** A database session that only sends announcements. Connects on first use, and reconnects after a failure. */
export type AnnouncingSession = {
  /** Sends payloads in one transaction. @throws {Error} if they cannot be sent */
  notify(payloads: readonly string[]): Promise<void>;
  close(): Promise<void>;
};

/** Creates a session, which is not connected yet. */
export function createAnnouncingSession(url: string, timeoutMs: number): AnnouncingSession {
  let connected: Promise<pg.Client> | undefined;

  return {
    async notify(payloads) {
      connected ??= connect(url, timeoutMs, () => {
        connected = undefined;
      });
      const client = await connected;
      const calls = payloads.map((payload) => `pg_notify('${CHANNEL}', ${client.escapeLiteral(payload)})`);
      // One round trip, without waiting for the disk: a sweep finds changes whose announcement was lost.
      const transaction = `begin; set local synchronous_commit = off; select ${calls.join(', ')}; commit`;
      try {
        await client.query(transaction);
      } catch (error) {
        // The transaction may still be open.
        breakConnection(client);
        throw error;
      }
    },
    async close() {
      const client = await connected?.catch(() => undefined);
      if (client !== undefined) await endSession(client, timeoutMs);
    },
  };
}

async function connect(url: string, timeoutMs: number, onEnd: () => void): Promise<pg.Client> {
  const socket = new Socket();
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
    stream: () => socket,
  });
  // Without a listener, the `error` event would end the process. Running queries are rejected in any case.
  client.on('error', () => socket.destroy()).on('end', onEnd);
  try {
    await client.connect();
    return client;
  } catch (error) {
    socket.destroy();
    onEnd();
    throw error;
  }
}
