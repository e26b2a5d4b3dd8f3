import type { MeasuredComparison, Targets } from './rounds.ts';
import type { Sample } from './sample.ts';
import { type Interval, median, medianInterval } from './statistics.ts';

/** Whether a target was met; not significant if the target is within the confidence interval. */
export type Verdict = 'met' | 'missed' | 'met, not significant' | 'missed, not significant';

/** The results of all subjects of a comparison. */
export type ComparisonResult = { title: string; subjects: readonly SubjectResult[] };

/** The result of one subject over all rounds, and its ratio to the first subject. */
export type SubjectResult = {
  title: string;
  perSecond: { median: number; min: number; max: number };
  /** Medians of the rounds: latencies in milliseconds, and processor time per request in microseconds. */
  p50: number;
  p99: number;
  cpuMicros: number;
  postgresMicros: number;
  /** Requests per second of the first subject divided by those of this one in the same round. */
  ratio?: Ratio;
  /** The same ratio of processor time per request, of server and PostgreSQL together. */
  cost?: Ratio;
  samples: readonly Sample[];
};

/** The median of all rounds, its confidence interval, and whether it meets the target. */
export type Ratio = Interval & { median: number; target?: number; verdict?: Verdict };

/** Compares the first subject of each comparison with the others. */
export function compareSamples(measured: readonly MeasuredComparison[]): ComparisonResult[] {
  return measured.map(({ comparison, samples }) => {
    const [first = []] = samples;
    const subjects = comparison.subjects.map(({ title, targets }, index): SubjectResult => {
      const own = summarize(title, samples[index] ?? []);
      return index === 0 ? own : { ...own, ...compareWithFirst(first, own.samples, targets) };
    });
    return { title: comparison.title, subjects };
  });
}

const listRates = (samples: readonly Sample[]): number[] => samples.map(({ perSecond }) => perSecond);
const listCosts = (samples: readonly Sample[]): number[] =>
  samples.map(({ cpuMicros, postgresMicros }) => cpuMicros + postgresMicros);

function summarize(title: string, samples: readonly Sample[]): SubjectResult {
  const rates = listRates(samples);
  return {
    title,
    perSecond: { median: median(rates), min: Math.min(...rates), max: Math.max(...rates) },
    p50: median(samples.map(({ p50 }) => p50)),
    p99: median(samples.map(({ p99 }) => p99)),
    cpuMicros: median(samples.map(({ cpuMicros }) => cpuMicros)),
    postgresMicros: median(samples.map(({ postgresMicros }) => postgresMicros)),
    samples,
  };
}

function compareWithFirst(first: readonly Sample[], others: readonly Sample[], targets: Targets = {}) {
  return {
    ratio: computeRatio(listRates(first), listRates(others), targets.rate, 'at least'),
    cost: computeRatio(listCosts(first), listCosts(others), targets.cost, 'at most'),
  };
}

function computeRatio(
  first: readonly number[],
  others: readonly number[],
  target: number | undefined,
  bound: 'at least' | 'at most',
): Ratio {
  const ratios = others.map((value, round) => (first[round] ?? Number.NaN) / value);
  const ratio = { median: median(ratios), ...medianInterval(ratios) };
  if (target === undefined) return ratio;
  // An upper bound is judged as a lower bound of the inverse.
  const [judged, minimum] = bound === 'at least' ? [ratio, target] : [invert(ratio), 1 / target];
  return { ...ratio, target, verdict: judge(judged, minimum) };
}

type Estimate = { median: number; low: number; high: number };

function invert({ median, low, high }: Estimate): Estimate {
  return { median: 1 / median, low: 1 / high, high: 1 / low };
}

function judge({ median, low, high }: Estimate, target: number): Verdict {
  if (median >= target) return low >= target ? 'met' : 'met, not significant';
  return high < target ? 'missed' : 'missed, not significant';
}
