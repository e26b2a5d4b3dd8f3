import type { Played, Sample } from './rounds.ts';
import { type Interval, median, medianInterval } from './statistics.ts';

/** Whether a target was reached; `not surely` where it lies within the interval. */
export type Verdict = 'reached' | 'missed' | 'reached, not surely' | 'missed, not surely';

/** What one entrant did in all rounds, and the first one held against it. */
export type Standing = {
  title: string;
  perSecond: { median: number; least: number; most: number };
  /** Medians of the rounds, in milliseconds and in microseconds of processor time a request. */
  p50: number;
  p99: number;
  cpuMicros: number;
  samples: readonly Sample[];
  /** The first entrant's requests a second, divided by this one's of the same round. */
  ratio?: Interval & { median: number };
  target?: number;
  verdict?: Verdict;
};

/** How the entrants of a contest stand. */
export function standingsOf({ contest, samples }: Played): Standing[] {
  const first = rates(samples[0] ?? []);
  return contest.entrants.map(({ title, target }, index) => {
    const own = samples[index] ?? [];
    const perSecond = rates(own);
    const standing: Standing = {
      title,
      perSecond: { median: median(perSecond), least: Math.min(...perSecond), most: Math.max(...perSecond) },
      p50: median(own.map(({ p50 }) => p50)),
      p99: median(own.map(({ p99 }) => p99)),
      cpuMicros: median(own.map(({ cpuMicros }) => cpuMicros)),
      samples: own,
    };
    if (index === 0) return standing;
    const ratios = perSecond.map((rate, round) => (first[round] ?? Number.NaN) / rate);
    const ratio = { median: median(ratios), ...medianInterval(ratios) };
    return { ...standing, ratio, ...(target !== undefined && { target, verdict: judge(ratio, target) }) };
  });
}

const rates = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);

function judge({ median, low, high }: Interval & { median: number }, target: number): Verdict {
  if (median >= target) return low >= target ? 'reached' : 'reached, not surely';
  return high < target ? 'missed' : 'missed, not surely';
}
