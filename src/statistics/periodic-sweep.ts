import { setTimeout as pause } from 'node:timers/promises';
import type { Database } from '../database/database.ts';
import type { Log } from '../log.ts';
import { SWEEP_INTERVAL_MS, takeStep } from './sweep.ts';

/** Takes the steps of sweeps that are due and that no other process takes, until it is stopped. */
export function startSweeping(database: Database, log: Log): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!signal.aborted) {
      const waitMs = await step();
      await pause(waitMs, undefined, { signal }).catch(() => undefined);
    }
  }

  async function step(): Promise<number> {
    try {
      return (await takeStep(database.fork(), signal)) ?? SWEEP_INTERVAL_MS;
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'updating the statistics failed; retrying');
      return SWEEP_INTERVAL_MS;
    }
  }
}
