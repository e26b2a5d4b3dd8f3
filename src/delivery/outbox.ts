import { setTimeout as pause } from 'node:timers/promises';
import type { DeliveryConfig } from '../config.ts';
import type { Database } from '../database/database.ts';
import type { Outbox } from '../live/outbox.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import { firstKey, followChanges, followChangesAfter } from './follow-changes.ts';
import type { DeliveryKey } from './select-deliveries.ts';

/** How long users are collected whose deliveries are checked by one statement. */
const COLLECT_MS = 10;

/** The maximum number of users whose deliveries one statement checks, and of those that wait. A sweep finds the others. */
const MAX_USERS = 200;
const MAX_NOTED = 10_000;

/** The interval of sweeps, which find what no process has noted, for example because it stopped. */
const SWEEP_MS = 30_000;

/** An outbox, and what makes deliveries follow changes. */
export type OpenOutbox = Outbox & {
  /** Starts to make deliveries follow, also changes of other processes. Until then, and after the end, nothing is noted. */
  start(database: Database, log: Log): Repeating;
};

/** Creates the outbox of the configured channels. */
export function createOutbox(config: DeliveryConfig): OpenOutbox {
  const channels = new Set(deliveryChannels.filter((channel) => config[channel] !== null));
  let following: Following | undefined;
  return {
    channels,
    emailDelayMs: (config.email?.delaySeconds ?? 0) * 1000,
    note: (users) => following?.note(users),
    start(database, log) {
      const started = startFollowing(database, log);
      following = started;
      return {
        async stop() {
          following = undefined;
          await started.stop();
        },
      };
    },
  };
}

type Following = Repeating & Pick<Outbox, 'note'>;

function startFollowing(database: Database, log: Log): Following {
  const noted = new Set<string>();
  let running: Promise<void> | undefined;
  const sweep = repeat(
    async (signal) => {
      let after: DeliveryKey | undefined = firstKey;
      while (after !== undefined && !signal.aborted) after = await followChangesAfter(database, after);
      return SWEEP_MS;
    },
    { log, message: 'looking for deliveries that missed a change failed; retrying', retryMs: SWEEP_MS },
  );

  const followNoted = async () => {
    while (noted.size > 0) {
      await pause(COLLECT_MS);
      const users = [...noted].slice(0, MAX_USERS);
      for (const user of users) noted.delete(user);
      await followChanges(database, users).catch((error: unknown) =>
        log.warn({ err: error }, 'making deliveries follow changes failed; the next sweep finds them'),
      );
    }
    running = undefined;
  };

  return {
    note(users) {
      for (const user of users) if (noted.size < MAX_NOTED) noted.add(user);
      running ??= followNoted();
    },
    async stop() {
      await sweep.stop();
      await running;
    },
  };
}
