import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import { type Announce, createAnnouncer } from './announcer.ts';
import type { Hub } from './hub.ts';
import { startListener } from './listener.ts';
import { startSweep } from './sweep.ts';

/** Delivers changes to the subscribers of a gateway. */
export type LiveEvents = {
  announce: Announce;
  /** Why events of other gateways are delayed; `undefined` if they are not. */
  readonly problem: string | undefined;
  close(): Promise<void>;
};

/** The timeout of each wait for the database, and the interval of sweeps. */
export type LiveEventsOptions = { timeoutMs: number; sweepMs: number };

/**
 * Starts to announce changes of this gateway, to listen for announcements of other gateways, and to sweep for changes
 * whose announcement was lost. Such a change is delivered at the next sweep.
 */
export function startLiveEvents(
  database: Database,
  hub: Hub,
  { timeoutMs, sweepMs }: LiveEventsOptions,
  log: Log,
): LiveEvents {
  const connection = { url: database.url, timeoutMs };
  const announcer = createAnnouncer((announcement) => listener.notify(announcement), hub, log);
  const sweep = startSweep(database, hub, sweepMs, log, announcer.probe);
  const { receive, probe } = announcer;
  const onListening = () => {
    sweep.sweepNow();
    probe();
  };
  const listener = startListener(connection, { receive, onListening }, log);
  return {
    announce: announcer.announce,
    get problem() {
      if (!listener.isUp) return 'connection interrupted';
      return announcer.isReceiving ? undefined : 'announcements are not arriving';
    },
    async close() {
      await sweep.stop();
      // Sends what it has collected.
      await announcer.close();
      await listener.close();
    },
  };
}
