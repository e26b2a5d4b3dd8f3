import { setTimeout as pause } from 'node:timers/promises';
import { IDLE_PERIOD_MS } from '../src/process/idle-collection.ts';
import { reportProgress } from './output.ts';

/** The rest of the period in which the gateway was last busy, an idle period, and a margin. */
const WAIT_MS = 2 * IDLE_PERIOD_MS + 5000;

/** Waits until an idle gateway has collected its garbage. */
export async function waitForCollection(): Promise<void> {
  reportProgress(`  waiting ${WAIT_MS / 1000} s for garbage collection`);
  await pause(WAIT_MS);
}
