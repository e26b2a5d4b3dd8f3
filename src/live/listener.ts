import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { endSession } from '../database/pool.ts';
import type { Log } from '../log.ts';
import { type Announcement, CHANNEL, parsePayload } from './announcement.ts';

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;

/** A connection that listens for announcements. */
export type Listener = {
  /** Whether it is connected and listening. */
  readonly isUp: boolean;
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

/** Listens for announcements until it is closed. Reconnects if the connection breaks. */
export function startListener(
  connection: ConnectionOptions,
  { receive, onListening }: AnnouncementHandlers,
  log: Log,
): Listener {
  const { timeoutMs } = connection;
  let isUp = false;
  let retryMs = FIRST_RETRY_MS;
  const closing = new AbortController();
  const finished = run();

  return {
    get isUp() {
      return isUp;
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
      isUp = false;
      await waitUnlessClosing(retryMs);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  }

  async function listen(): Promise<void> {
    const { client, broken } = createClient(connection, receive);
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      isUp = true;
      retryMs = FIRST_RETRY_MS;
      onListening();
      await Promise.race([broken, probeUntilClosed(client)]);
    } finally {
      isUp = false;
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
