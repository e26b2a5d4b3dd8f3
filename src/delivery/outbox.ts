import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryConfig } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { Outbox } from '../live/outbox.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { DeliveryKey } from './select-deliveries.ts';
import { endUnwanted, endUnwantedAfter, firstKey } from './unwanted.ts';

/** How long users are collected whose deliveries are checked by one statement. */
const COLLECT_MS = 10;

/** The maximum number of users whose deliveries one statement checks, and of those that wait. A sweep finds the others. */
const MAX_USERS = 200;
const MAX_NOTED = 10_000;

/** The interval of sweeps, which find what no process has noted, for example because it stopped. */
const SWEEP_MS = 30_000;

/** An outbox, and what ends the deliveries that changes have made unwanted. */
export type OpenOutbox = Outbox & {
  /** Starts to end deliveries, also of other processes. Until then, and after the end, nothing is noted. */
  start(database: Database, log: Log): Repeating;
};

/** Creates the outbox of the configured channels. */
export function createOutbox(config: DeliveryConfig): OpenOutbox {
  const channels = new Set(deliveryChannels.filter((channel) => config[channel] !== null));
  let ending: Ending | undefined;
  return {
    channels,
    emailDelayMs: (config.email?.delaySeconds ?? 0) * 1000,
    note: (users) => ending?.note(users),
    start(database, log) {
      const started = startEnding(database, log);
      ending = started;
      return {
        async stop() {
          ending = undefined;
          await started.stop();
        },
      };
    },
  };
}

type Ending = Repeating & Pick<Outbox, 'note'>;

function startEnding(database: Database, log: Log): Ending {
  const noted = new Set<string>();
  let running: Promise<void> | undefined;
  const sweep = repeat(
    async (signal) => {
      let after: DeliveryKey | undefined = firstKey;
      while (after !== undefined && !signal.aborted) after = await endUnwantedAfter(database.fork(), after);
      return SWEEP_MS;
    },
    { log, message: 'looking for deliveries that are no longer wanted failed; retrying', retryMs: SWEEP_MS },
  );

  const endNoted = async () => {
    while (noted.size > 0) {
      await pause(COLLECT_MS);
      const users = [...noted].slice(0, MAX_USERS);
      for (const user of users) noted.delete(user);
      await endUnwanted(database, users).catch((error: unknown) =>
        log.warn({ err: error }, 'ending deliveries failed; the next sweep finds them'),
      );
    }
    running = undefined;
  };

  return {
    note(users) {
      for (const user of users) if (noted.size < MAX_NOTED) noted.add(user);
      running ??= endNoted();
    },
    async stop() {
      await sweep.stop();
      await running;
    },
  };
}
