import { setTimeout as pause } from 'node:timers/promises';
import { reportProgress } from './output.ts';

const SETTLE_MS = 60_000;

/** Waits a minute without work before memory is measured. */
export async function settle(): Promise<void> {
  reportProgress(`  waiting ${SETTLE_MS / 1000} s`);
  await pause(SETTLE_MS);
}
