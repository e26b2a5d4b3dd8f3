import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import pg from 'pg';
import { z } from 'zod';
import { breakConnection, endSession } from '../database/pool.ts';
import { type Change, topics } from './hub.ts';

/** The PostgreSQL channel on which gateways announce changes. */
export const CHANNEL = 'account_changes';

/** PostgreSQL rejects payloads of 8,000 bytes and more. */
const MAX_PAYLOAD_BYTES = 7900;

/**
 * A message from a gateway to all gateways, itself included: the sender, a number that increases with every
 * announcement, and changes.
 */
export type Announcement = { from: string; number: number; changes: Change[] };

const Payload = z.object({
  from: z.string(),
  number: z.int(),
  changes: z.array(z.tuple([z.string(), z.enum(topics), z.int()])),
});

/** Formats an announcement as payloads, with as many changes in each as fit. */
export function formatPayloads({ from, number, changes }: Announcement): string[] {
  const format = (parts: readonly string[]) =>
    `{"from":${JSON.stringify(from)},"number":${number},"changes":[${parts.join(',')}]}`;
  const maxBytes = MAX_PAYLOAD_BYTES - Buffer.byteLength(format([]));
  const payloads: string[][] = [[]];
  let size = 0;
  for (const { user, topic, revision } of changes) {
    const part = JSON.stringify([user, topic, revision]);
    const bytes = Buffer.byteLength(part) + 1;
    if (size + bytes > maxBytes) {
      payloads.push([]);
      size = 0;
    }
    payloads.at(-1)?.push(part);
    size += bytes;
  }
  return payloads.map(format);
}

/** Parses a payload; `undefined` if it was not written by {@link formatPayloads}. */
export function parsePayload(payload: string | undefined): Announcement | undefined {
  try {
    const { from, number, changes } = Payload.parse(JSON.parse(payload ?? ''));
    return { from, number, changes: changes.map(([user, topic, revision]) => ({ user, topic, revision })) };
  } catch {
    return undefined;
  }
}

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
