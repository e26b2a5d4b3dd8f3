import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import { type Repeating, repeat } from '../repeat.ts';
import { SWEEP_INTERVAL_MS, takeStep } from './sweep.ts';

/** Takes the steps of sweeps that are due and that no other process takes, until it is stopped. */
export function startSweeping(database: Database, log: Log): Repeating {
  return repeat(async (signal) => (await takeStep(database.fork(), signal)) ?? SWEEP_INTERVAL_MS, {
    log,
    message: 'updating the statistics failed; retrying',
    retryMs: SWEEP_INTERVAL_MS,
  });
}
