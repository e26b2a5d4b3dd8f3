import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import { type Announce, createAnnouncer } from './announcer.ts';
import type { Hub } from './hub.ts';
import { startListener } from './listener.ts';
import { startSweep } from './sweep.ts';

/** How changes reach the subscribers of a gateway. */
export type LiveEvents = {
  announce: Announce;
  /** `ok`, or why events of other gateways arrive late. */
  readonly state: string;
  close(): Promise<void>;
};

/** How it is set. */
export type LiveEventsOptions = { timeoutMs: number; sweepMs: number };

/**
 * Announces the changes of this gateway, hears of those of others, and sweeps for what nobody announced. Whatever is
 * lost on the way is delayed until the next sweep.
 */
export function startLiveEvents(
  database: Database,
  hub: Hub,
  { timeoutMs, sweepMs }: LiveEventsOptions,
  log: Log,
): LiveEvents {
  const connection = { url: database.url, timeoutMs };
  const announcer = createAnnouncer(connection, hub, log);
  const sweep = startSweep(database.em.fork(), hub, sweepMs, log, announcer.probe);
  const { receive, probe } = announcer;
  const resume = () => {
    sweep.start();
    probe();
  };
  const listener = startListener(connection, { receive, resume }, log);
  return {
    announce: announcer.announce,
    get state() {
      if (!listener.isUp) return 'are interrupted';
      return announcer.isReceiving ? 'ok' : 'are not announced';
    },
    async close() {
      // Last the announcer: the others have it probe.
      await Promise.all([listener.close(), sweep.stop()]);
      await announcer.close();
    },
  };
}
