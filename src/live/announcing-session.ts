import { Socket } from 'node:net';
import pg from 'pg';
import { endSession } from './end-session.ts';
import { CHANNEL } from './message.ts';

/** A session that does nothing but announce; it is opened when it is needed, and again after it broke. */
export type AnnouncingSession = {
  /** Sends payloads in one transaction. @throws {Error} if it cannot be sent */
  notify(payloads: readonly string[]): Promise<void>;
  close(): Promise<void>;
};

/** A session without a connection yet. */
export function createAnnouncingSession(url: string, timeoutMs: number): AnnouncingSession {
  let connected: Promise<pg.Client> | undefined;

  return {
    async notify(payloads) {
      connected ??= connect(url, timeoutMs, () => {
        connected = undefined;
      });
      const client = await connected;
      const notes = payloads.map((payload) => `pg_notify('${CHANNEL}', ${client.escapeLiteral(payload)})`);
      // One round trip. What a crash of PostgreSQL loses of it, sweeping finds.
      const transaction = `begin; set local synchronous_commit = off; select ${notes.join(', ')}; commit`;
      try {
        await client.query(transaction);
      } catch (error) {
        // Its transaction may still be open.
        client.connection.stream.destroy();
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
  // What is under way fails by itself; unheard, the event would end the process.
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
