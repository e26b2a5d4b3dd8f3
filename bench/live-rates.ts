import type { LiveRun } from './live-load-process.ts';
import { median } from './statistics.ts';

/** The target for the 99th percentile of delays. */
export const P99_TARGET_MS = 100;

/** One run at a rate, with processor time per event in microseconds and the gateway's memory in KiB. */
export type RateRun = LiveRun & { gatewayMicros: number; postgresMicros: number; memory: number };

/** All runs at a rate. */
export type Rate = { perSecond: number; runs: readonly RateRun[] };

/** Resident memory of the gateway in KiB. */
export type LiveMemory = {
  /** Without subscribers, after warm-up. */
  before: number;
  /** With subscribers that have received no event. */
  idle: number;
  /** After the highest rate that met the target, or after the first rate if none did. */
  after: number;
  /** A minute after the last event. */
  later: number;
};

export type LiveResults = { subscribers: number; rates: readonly Rate[]; memory: LiveMemory };

/** Whether all runs are complete and their median meets the target. */
export function isFastEnough({ runs }: Rate): boolean {
  return runs.every(isComplete) && median(runs.map(({ delays }) => delays.p99)) < P99_TARGET_MS;
}

/** Whether every event arrived exactly once and nothing failed. */
export function isComplete({ missing, duplicates, failures }: LiveRun): boolean {
  return missing + duplicates + failures === 0;
}

/** Finds the highest rate that was fast enough, as were all lower ones. */
export function findHighestRate(rates: readonly Rate[]): Rate | undefined {
  const slow = rates.findIndex((rate) => !isFastEnough(rate));
  return slow === -1 ? rates.at(-1) : rates[slow - 1];
}
