import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import type { Log } from '../log.ts';
import { endSession } from './end-session.ts';
import { CHANNEL, type Message, readPayload } from './message.ts';

const FIRST_RETRY_MS = 50;
const MAX_RETRY_MS = 2000;

/** A connection that listens for announcements. */
export type Listener = {
  /** Whether announcements arrive at present. */
  readonly isUp: boolean;
  close(): Promise<void>;
};

/** Called by a listener. */
export type AnnouncementHandlers = {
  receive(message: Message): void;
  /** Called whenever it begins to listen: what was announced before is lost, what was written is not. */
  resume(): void;
};

/** Listens until it is closed, on a new connection where one breaks. */
export function startListener(
  { url, timeoutMs }: { url: string; timeoutMs: number },
  { receive, resume }: AnnouncementHandlers,
  log: Log,
): Listener {
  let isUp = false;
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
    let retryMs = FIRST_RETRY_MS;
    while (!closing.signal.aborted) {
      try {
        await listen(() => {
          retryMs = FIRST_RETRY_MS;
        });
      } catch (error) {
        log.warn({ err: error }, 'listening for changes broke off; trying again');
      }
      isUp = false;
      await pause(retryMs, undefined, { signal: closing.signal }).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, MAX_RETRY_MS);
    }
  }

  async function listen(onListening: () => void): Promise<void> {
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
      const message = readPayload(payload);
      if (message !== undefined) receive(message);
    });
    try {
      await client.connect();
      await client.query(`listen ${CHANNEL}`);
      isUp = true;
      onListening();
      resume();
      await Promise.race([broken, keepAlive(client)]);
    } finally {
      isUp = false;
      await endSession(client, timeoutMs);
    }
  }

  /** A connection whose other end is gone without a word is found out by asking. Ends when the listener is closed. */
  async function keepAlive(client: pg.Client): Promise<void> {
    while (!closing.signal.aborted) {
      await pause(2 * timeoutMs, undefined, { signal: closing.signal }).catch(() => undefined);
      if (!closing.signal.aborted) await client.query('select 1');
    }
  }
}
