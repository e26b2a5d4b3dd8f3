import { Buffer } from 'node:buffer';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { z } from 'zod';
import { breakConnection, endSession } from '../database/pool.ts';
import type { Log } from '../log.ts';
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
function formatPayloads({ from, number, changes }: Announcement): string[] {
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

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;

/** A connection that listens for announcements and sends them. */
export type Listener = {
  /** Whether it is connected and listening. */
  readonly isUp: boolean;
  /** Sends an announcement in one transaction. @throws {Error} if it cannot be sent */
  notify(announcement: Announcement): Promise<void>;
  close(): Promise<void>;
};

/** The functions that a listener calls. */
export type AnnouncementHandlers = {
  receive(announcement: Announcement): void;
  /** Called after each connect. Announcements sent before it are lost. */
  onListening(): void;
};

/** The database, and the timeout of each wait for it. */
type ConnectionOptions = { url: string; timeoutMs: number };

/**
 * Listens for announcements until it is closed. Reconnects if the connection breaks. Announcements of the gateway itself
 * are sent on the same connection, so that PostgreSQL returns them with the reply, and wakes no second session.
 */
export function startListener(
  connection: ConnectionOptions,
  { receive, onListening }: AnnouncementHandlers,
  log: Log,
): Listener {
  const { timeoutMs } = connection;
  let listening: pg.Client | undefined;
  let retryMs = FIRST_RETRY_MS;
  const closing = new AbortController();
  const finished = run();

  return {
    get isUp() {
      return listening !== undefined;
    },
    async notify(announcement) {
      const client = listening;
      if (client === undefined) throw new Error('the connection is interrupted');
      const calls = formatPayloads(announcement).map(
        (payload) => `pg_notify('${CHANNEL}', ${client.escapeLiteral(payload)})`,
      );
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
      closing.abort();
      await finished;
    },
  };

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await listen();
      } catch (error) {
        log.warn({ err: error }, 'listening for announcements failed; reconnecting');
      }
      await waitUnlessClosing(retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  }

  async function listen(): Promise<void> {
    const { client, broken } = createClient(connection, receive);
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      listening = client;
      retryMs = FIRST_RETRY_MS;
      onListening();
      await Promise.race([broken, probeUntilClosed(client)]);
    } finally {
      listening = undefined;
      await endSession(client, timeoutMs);
    }
  }

  /** Queries regularly, because a connection whose peer disappeared stays open until something is sent. */
  async function probeUntilClosed(client: pg.Client): Promise<void> {
    while (!closing.signal.aborted) {
      await waitUnlessClosing(2 * timeoutMs);
      if (!closing.signal.aborted) await client.query('select 1');
    }
  }

  async function waitUnlessClosing(ms: number): Promise<void> {
    await pause(ms, undefined, { signal: closing.signal }).catch(() => undefined);
  }
}

/** Creates a client that passes on announcements. `broken` rejects when its connection breaks. */
function createClient({ url, timeoutMs }: ConnectionOptions, receive: AnnouncementHandlers['receive']) {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
    keepAlive: true,
  });
  const broken = new Promise<never>((_resolve, reject) => {
    client.on('error', reject).on('end', () => reject(new Error('the connection was closed')));
  });
  broken.catch(() => undefined);
  client.on('notification', ({ payload }) => {
    const announcement = parsePayload(payload);
    if (announcement !== undefined) receive(announcement);
  });
  return { client, broken };
}
