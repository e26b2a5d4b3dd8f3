import { randomUUID } from 'node:crypto';
import type { EntityManager } from '../database/database.ts';
import type { Log } from '../log.ts';
import { createAnnouncingSession } from './announcing-session.ts';
import type { Change, Hub } from './hub.ts';
import { type Message, writePayloads } from './message.ts';

export type { Change } from './hub.ts';

/** Wakes this gateway's subscribers at once and tells the other gateways within milliseconds. Never throws, never waits. */
export type Announce = (changes: Change | readonly Change[]) => void;

/** What a domain function needs to change something. `Context` is one. */
export type Writer = { readonly em: EntityManager; readonly announce: Announce };

/** Announces the committed changes of this gateway. */
export type Announcer = {
  announce: Announce;
  /** Takes a message that arrived; of this gateway's own only that it did. */
  receive(message: Message): void;
  /** Sends a message without changes, to find out whether messages arrive. */
  probe(): void;
  /** Whether the last messages of this gateway's own arrived. */
  readonly isReceiving: boolean;
  close(): Promise<void>;
};

/** Changes are gathered for so long: each message takes a lock that is one for the whole of PostgreSQL. */
const GATHER_MS = 5;

/** Changes kept while they cannot be sent; more are found by sweeping anyway. */
const MAX_PENDING = 10_000;

/** A gateway receives its own messages within this time, unless announcements do not arrive. */
const RECEIVE_TIMEOUT_MS = 2000;

/**
 * Announcements are hints: the tables hold the truth, and every gateway sweeps. So they are sent beside the changes,
 * never within their transactions: a `NOTIFY` holds a lock of the whole cluster until its commit is flushed.
 */
export function createAnnouncer(
  { url, timeoutMs }: { url: string; timeoutMs: number },
  hub: Pick<Hub, 'announce'>,
  log: Log,
): Announcer {
  const from = randomUUID();
  const session = createAnnouncingSession(url, timeoutMs);
  /** By user and topic: the newest revision says all. */
  let pending = new Map<string, Change>();
  let gathering: NodeJS.Timeout | undefined;
  let isSending = false;
  let sending: Promise<void> = Promise.resolve();
  let isClosing = false;
  let sent = 0;
  let lastReceived = 0;
  let isReceiving = true;
  let waiting: NodeJS.Timeout | undefined;

  return {
    announce(changes) {
      for (const change of 'user' in changes ? [changes] : changes) {
        hub.announce(change);
        if (pending.size < MAX_PENDING) pending.set(`${change.topic} ${change.user}`, change);
      }
      gather();
    },
    receive(message) {
      if (message.from === from) return noteReceived(message.number);
      for (const change of message.changes) hub.announce(change);
    },
    probe() {
      if (!isSending && pending.size === 0) sending = send();
    },
    get isReceiving() {
      return isReceiving;
    },
    async close() {
      isClosing = true;
      clearTimeout(gathering);
      await sending;
      if (pending.size > 0) await send();
      clearTimeout(waiting);
      await session.close();
    },
  };

  function gather(): void {
    if (gathering !== undefined || isSending || isClosing) return;
    gathering = setTimeout(() => {
      sending = send();
    }, GATHER_MS);
  }

  async function send(): Promise<void> {
    gathering = undefined;
    isSending = true;
    const changes = [...pending.values()];
    pending = new Map();
    const number = sent + 1;
    sent = number;
    try {
      await session.notify(writePayloads({ from, number, changes }));
      waiting ??= setTimeout(() => checkReceived(number), RECEIVE_TIMEOUT_MS).unref();
    } catch (error) {
      log.warn({ err: error }, 'announcing changes failed; other gateways find them by sweeping');
    } finally {
      isSending = false;
      if (pending.size > 0) gather();
    }
  }

  function noteReceived(number: number): void {
    lastReceived = Math.max(lastReceived, number);
    if (!isReceiving) log.info('announcements arrive again');
    isReceiving = true;
  }

  function checkReceived(number: number): void {
    waiting = undefined;
    if (lastReceived >= number || !isReceiving) return;
    isReceiving = false;
    log.warn('announcements do not arrive: events of other gateways wait for the next sweep');
  }
}
