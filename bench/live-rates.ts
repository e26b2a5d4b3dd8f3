import type { LiveRun } from './live-load-process.ts';
import { median } from './statistics.ts';

/** Events are fast enough if no more than one of a hundred takes longer than this. */
export const P99_TARGET_MS = 100;

/** One run at a rate, with processor time in microseconds for each event, and the gateway's memory after it in KiB. */
export type RateRun = LiveRun & { gatewayMicros: number; postgresMicros: number; memory: number };

/** All runs at a rate. */
export type Rate = { perSecond: number; runs: readonly RateRun[] };

/** Resident memory of the gateway in KiB. */
export type LiveMemory = {
  /** Without subscribers, after some have come and gone. */
  before: number;
  /** With subscribers that have received nothing. */
  idle: number;
  /** After the events of the highest rate that was fast enough, or of the first where none was. */
  after: number;
  /** One minute after all events. */
  minuteLater: number;
};

export type LiveResults = { subscribers: number; rates: readonly Rate[]; memory: LiveMemory };

/** Whether every event arrived exactly once and, by the median of the runs, in time. */
export function isFastEnough({ runs }: Rate): boolean {
  return runs.every(isWhole) && median(runs.map(({ delays }) => delays.p99)) < P99_TARGET_MS;
}

/** Whether every event arrived exactly once. */
export function isWhole({ missing, twice, failures }: LiveRun): boolean {
  return missing + twice + failures === 0;
}

/** The highest rate that was fast enough, as all lower ones were. */
export function highestRate(rates: readonly Rate[]): Rate | undefined {
  const slow = rates.findIndex((rate) => !isFastEnough(rate));
  return slow === -1 ? rates.at(-1) : rates[slow - 1];
}
