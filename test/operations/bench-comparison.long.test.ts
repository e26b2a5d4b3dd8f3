import { describe, expect, test } from 'vitest';
import { compareSamples } from '../../bench/comparison.ts';
import type { Targets } from '../../bench/rounds.ts';

/** A sample with these requests per second and processor times. */
const sample = (perSecond: number, cpuMicros: number, postgresMicros: number) => ({
  replies: 100,
  perSecond,
  p50: 1,
  p99: 2,
  cpuMicros,
  postgresMicros,
});

/** Compares two subjects over six rounds with these ratios of rate and processor time. */
function compare(rates: readonly number[], costs: readonly number[], targets?: Targets) {
  const others = rates.map(() => sample(1000, 300, 100));
  const firsts = rates.map((rate, round) => {
    const total = (costs[round] ?? 1) * 400;
    return sample(1000 * rate, total / 2, total / 2);
  });
  const run = () => Promise.resolve(sample(0, 0, 0));
  const subjects = [
    { title: 'gateway', run },
    { title: 'peer', run, ...(targets && { targets }) },
  ];
  const [result] = compareSamples([{ comparison: { title: 'work', subjects }, samples: [firsts, others] }]);
  return result?.subjects[1];
}

const same = (value: number) => Array.from({ length: 6 }, () => value);

test("reports the medians of each subject's rounds, and no ratio for the first subject", () => {
  const samples = [sample(10, 100, 30), sample(30, 300, 10), sample(20, 200, 20)];
  const run = () => Promise.resolve(sample(0, 0, 0));
  const [result] = compareSamples([
    { comparison: { title: 'work', subjects: [{ title: 'gateway', run }] }, samples: [samples] },
  ]);
  expect(result?.subjects).toEqual([
    {
      title: 'gateway',
      perSecond: { median: 20, min: 10, max: 30 },
      p50: 1,
      p99: 2,
      cpuMicros: 200,
      postgresMicros: 20,
      samples,
    },
  ]);
});

test('ratios compare rates and total processor time of server and PostgreSQL within the same round', () => {
  const peer = compare([0.5, 0.6, 0.7, 0.8, 0.9, 1], [1, 1.2, 1.4, 1.6, 1.8, 2]);
  expect(peer?.ratio).toMatchObject({ median: 0.75, low: 0.5, high: 1 });
  expect(peer?.cost?.median).toBeCloseTo(1.5);
  expect(peer?.cost).not.toHaveProperty('verdict');
});

describe('a target', () => {
  test.each([
    ['of a rate is a minimum', same(0.8), 'met'],
    ['of a rate is a minimum', same(0.6), 'missed'],
    [
      'of a rate that is met within the interval is not significant',
      [0.6, 0.71, 0.8, 0.8, 0.9, 0.9],
      'met, not significant',
    ],
    [
      'of a rate that is missed within the interval is not significant',
      [0.5, 0.6, 0.65, 0.65, 0.7, 0.9],
      'missed, not significant',
    ],
  ])('%s', (_what, rates, verdict) => {
    expect(compare(rates, same(1), { rate: 0.7 })?.ratio?.verdict).toBe(verdict);
  });

  test.each([
    ['of a cost is a maximum', same(1.5), 'met'],
    ['of a cost is a maximum', same(1.7), 'missed'],
    [
      'of a cost that is met within the interval is not significant',
      [1, 1.2, 1.4, 1.5, 1.7, 1.8],
      'met, not significant',
    ],
    [
      'of a cost that is missed within the interval is not significant',
      [1.2, 1.5, 1.7, 1.8, 2, 2],
      'missed, not significant',
    ],
  ])('%s', (_what, costs, verdict) => {
    expect(compare(same(1), costs, { cost: 1.6 })?.cost?.verdict).toBe(verdict);
  });
});
