import type { Played } from './rounds.ts';
import type { Sample } from './sample.ts';
import { type Interval, median, medianInterval } from './statistics.ts';

/** Whether a target was reached; not surely where it lies within the interval. */
export type Verdict = 'reached' | 'missed' | 'reached, not surely' | 'missed, not surely';

/** How the entrants of a contest stand. */
export type Standing = { title: string; entrants: readonly EntrantStanding[] };

/** What one entrant did in all rounds, and the first one held against it. */
export type EntrantStanding = {
  title: string;
  perSecond: { median: number; least: number; most: number };
  /** Medians of the rounds: milliseconds, and microseconds of processor time a request. */
  p50: number;
  p99: number;
  cpuMicros: number;
  /** The first entrant's requests a second divided by this one's of the same round: the median and its interval. */
  ratio?: Interval & { median: number };
  target?: number;
  verdict?: Verdict;
  samples: readonly Sample[];
};

/** Holds the entrants of each contest against each other. */
export function standingsOf(played: readonly Played[]): Standing[] {
  return played.map(({ contest, samples }) => {
    const first = ratesOf(samples[0]);
    const entrants = contest.entrants.map(({ title, target }, index): EntrantStanding => {
      const own = summaryOf(title, samples[index] ?? []);
      return index === 0 ? own : { ...own, ...heldAgainst(first, ratesOf(samples[index]), target) };
    });
    return { title: contest.title, entrants };
  });
}

const ratesOf = (samples: readonly Sample[] = []): number[] => samples.map(({ perSecond }) => perSecond);

function summaryOf(title: string, samples: readonly Sample[]): EntrantStanding {
  const rates = ratesOf(samples);
  return {
    title,
    perSecond: { median: median(rates), least: Math.min(...rates), most: Math.max(...rates) },
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    cpuMicros: median(samples.map(({ cpuMicros }) => cpuMicros)),
    samples,
  };
}

function heldAgainst(first: readonly number[], others: readonly number[], target: number | undefined) {
  const ratios = others.map((rate, round) => (first[round] ?? Number.NaN) / rate);
  const ratio = { median: median(ratios), ...medianInterval(ratios) };
  return { ratio, ...(target !== undefined && { target, verdict: judge(ratio, target) }) };
}

function judge({ median, low, high }: Interval & { median: number }, target: number): Verdict {
  if (median >= target) return low >= target ? 'reached' : 'reached, not surely';
  return high < target ? 'missed' : 'missed, not surely';
}
