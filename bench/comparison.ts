import type { Played, Targets } from './rounds.ts';
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
  postgresMicros: number;
  /** The first entrant's requests a second divided by this one's of the same round. */
  ratio?: Ratio;
  /** The same of processor time a request, the server's and PostgreSQL's together. */
  cost?: Ratio;
  samples: readonly Sample[];
};

/** The median of all rounds, its interval, and whether it is where it should be. */
export type Ratio = Interval & { median: number; target?: number; verdict?: Verdict };

/** Holds the entrants of each contest against each other. */
export function standingsOf(played: readonly Played[]): Standing[] {
  return played.map(({ contest, samples }) => {
    const [first = []] = samples;
    const entrants = contest.entrants.map(({ title, targets }, index): EntrantStanding => {
      const own = summaryOf(title, samples[index] ?? []);
      return index === 0 ? own : { ...own, ...heldAgainst(first, own.samples, targets) };
    });
    return { title: contest.title, entrants };
  });
}

const ratesOf = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);
const costsOf = (samples: readonly Sample[]): number[] =>
  samples.map(({ cpuMicros, postgresMicros }) => cpuMicros + postgresMicros);

function summaryOf(title: string, samples: readonly Sample[]): EntrantStanding {
  const rates = ratesOf(samples);
  return {
    title,
    perSecond: { median: median(rates), least: Math.min(...rates), most: Math.max(...rates) },
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    cpuMicros: median(samples.map(({ cpuMicros }) => cpuMicros)),
    postgresMicros: median(samples.map(({ postgresMicros }) => postgresMicros)),
    samples,
  };
}

function heldAgainst(first: readonly Sample[], others: readonly Sample[], targets: Targets = {}) {
  return {
    ratio: ratioOf(ratesOf(first), ratesOf(others), targets.rate, 'at least'),
    cost: ratioOf(costsOf(first), costsOf(others), targets.cost, 'at most'),
  };
}

function ratioOf(
  first: readonly number[],
  others: readonly number[],
  target: number | undefined,
  bound: 'at least' | 'at most',
): Ratio {
  const ratios = others.map((value, round) => (first[round] ?? Number.NaN) / value);
  const ratio = { median: median(ratios), ...medianInterval(ratios) };
  if (target === undefined) return ratio;
  // What is to be low is judged as its inverse.
  const [judged, wanted] = bound === 'at least' ? [ratio, target] : [inverse(ratio), 1 / target];
  return { ...ratio, target, verdict: judge(judged, wanted) };
}

type Middle = { median: number; low: number; high: number };

function inverse({ median, low, high }: Middle): Middle {
  return { median: 1 / median, low: 1 / high, high: 1 / low };
}

function judge({ median, low, high }: Middle, target: number): Verdict {
  if (median >= target) return low >= target ? 'reached' : 'reached, not surely';
  return high < target ? 'missed' : 'missed, not surely';
}
