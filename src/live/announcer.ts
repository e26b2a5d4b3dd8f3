import { randomUUID } from 'node:crypto';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import type { Change, Hub } from './hub.ts';
import type { Announcement } from './listener.ts';

/** Announces committed changes to the subscribers of all gateways. Returns immediately and never throws. */
export type Announce = (changes: Change | readonly Change[]) => void;

/** The dependencies of a function that changes records. A `Context` can be passed. */
export type ChangeDependencies = {
  readonly database: Database;
  readonly announce: Announce;
};

/** Announces the changes of this gateway. */
export type Announcer = {
  announce: Announce;
  /** Handles an announcement of any gateway, this one included. */
  receive(announcement: Announcement): void;
  /** Sends an announcement without changes, to check that announcements arrive. */
  probe(): void;
  /** Whether the gateway receives its own announcements. */
  readonly isReceiving: boolean;
  close(): Promise<void>;
};

/**
 * How long changes are collected for one announcement, and the minimum time between two announcements. Each takes an
 * exclusive lock of the PostgreSQL cluster, and wakes all gateways.
 */
const COLLECT_MS = 5;
const INTERVAL_MS = 20;

/** The maximum number of changes that wait to be sent. Further changes are found by sweeps. */
const MAX_PENDING = 10_000;

/**
 * Creates the announcer of a gateway. Announcements are hints: sweeps find in the tables what was not announced.
 * Announcements are sent after the commit of the change, in a transaction that does not wait for the disk. `NOTIFY` in
 * the transaction of the change would hold an exclusive lock of the PostgreSQL cluster until the commit is on disk.
 * @param notify sends an announcement to all gateways
 */
export function createAnnouncer(
  notify: (announcement: Announcement) => Promise<void>,
  hub: Pick<Hub, 'wake'>,
  log: Log,
): Announcer {
  const from = randomUUID();
  /** The latest change of each topic and user, which makes earlier ones redundant. */
  let pending = new Map<string, Change>();
  let collecting: NodeJS.Timeout | undefined;
  let isSending = false;
  let sending: Promise<void> = Promise.resolve();
  let isClosing = false;
  let lastSent = 0;
  let lastSentAt = Number.NEGATIVE_INFINITY;
  const receipts = createReceiptCheck(log);

  return {
    announce(changes) {
      for (const change of 'user' in changes ? [changes] : changes) {
        hub.wake(change);
        if (pending.size < MAX_PENDING) pending.set(`${change.topic} ${change.user}`, change);
      }
      scheduleSend();
    },
    receive({ from: sender, number, changes }) {
      if (sender === from) return receipts.noteReceived(number);
      for (const change of changes) hub.wake(change);
    },
    probe() {
      if (!isSending && !isClosing && pending.size === 0) sending = send();
    },
    get isReceiving() {
      return receipts.isReceiving;
    },
    async close() {
      isClosing = true;
      clearTimeout(collecting);
      await sending;
      if (pending.size > 0) await send();
      receipts.stop();
    },
  };

  function scheduleSend(): void {
    if (collecting !== undefined || isSending || isClosing) return;
    const wait = Math.max(COLLECT_MS, lastSentAt + INTERVAL_MS - performance.now());
    collecting = setTimeout(() => {
      sending = send();
    }, wait);
  }

  async function send(): Promise<void> {
    collecting = undefined;
    isSending = true;
    const changes = [...pending.values()];
    pending = new Map();
    const number = lastSent + 1;
    lastSent = number;
    lastSentAt = performance.now();
    try {
      await notify({ from, number, changes });
      receipts.noteSent(number);
    } catch (error) {
      log.warn({ err: error }, 'announcing changes failed; other gateways find them by sweeping');
    } finally {
      isSending = false;
      if (pending.size > 0) scheduleSend();
    }
  }
}

/** Sorts a user's changed records by revision, announces the last record, and returns all records. */
export function announceRecords<Row extends { revision: number }>(
  announce: Announce,
  change: Omit<Change, 'revision'>,
  changed: readonly Row[],
): Row[] {
  const records = changed.toSorted((a, b) => a.revision - b.revision);
  const last = records.at(-1);
  if (last !== undefined) announce({ ...change, revision: last.revision });
  return records;
}

/** A gateway that does not receive its own announcement within this time is assumed to receive none. */
const RECEIVE_TIMEOUT_MS = 2000;

/** Checks that a gateway receives its own announcements. */
export type ReceiptCheck = {
  /** Whether the gateway receives its own announcements. */
  readonly isReceiving: boolean;
  noteSent(number: number): void;
  noteReceived(number: number): void;
  stop(): void;
};

/** Creates a check. It logs when announcements cease to arrive, and when they arrive again. */
function createReceiptCheck(log: Log): ReceiptCheck {
  let isReceiving = true;
  let lastReceived = 0;
  let timer: NodeJS.Timeout | undefined;

  return {
    get isReceiving() {
      return isReceiving;
    },
    noteSent(number) {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (lastReceived >= number || !isReceiving) return;
        isReceiving = false;
        log.warn(
          'announcements are not arriving; events from other gateways are delayed until the next sweep',
        );
      }, RECEIVE_TIMEOUT_MS).unref();
    },
    noteReceived(number) {
      lastReceived = Math.max(lastReceived, number);
      if (!isReceiving) log.info('announcements arrive again');
      isReceiving = true;
    },
    stop: () => clearTimeout(timer),
  };
}
