import { describe, expect, test } from 'vitest';
import { standingsOf } from '../bench/comparison.ts';
import type { Targets } from '../bench/rounds.ts';

/** A sample with the given rate and processor times; the other values do not matter. */
const sample = (perSecond: number, cpuMicros: number, postgresMicros: number) => ({
  replies: 100,
  perSecond,
  p50: 1,
  p99: 2,
  cpuMicros,
  postgresMicros,
});

/** Compares six rounds of two entrants. The first one's rate and processor time are multiples of the second one's. */
function compare(rates: readonly number[], costs: readonly number[], targets?: Targets) {
  const others = rates.map(() => sample(1000, 300, 100));
  const firsts = rates.map((rate, round) => {
    const total = (costs[round] ?? 1) * 400;
    return sample(1000 * rate, total / 2, total / 2);
  });
  const run = () => Promise.resolve(sample(0, 0, 0));
  const entrants = [
    { title: 'gateway', run },
    { title: 'peer', run, ...(targets && { targets }) },
  ];
  const [standing] = standingsOf([{ contest: { title: 'work', entrants }, samples: [firsts, others] }]);
  return standing?.entrants[1];
}

const same = (value: number) => Array.from({ length: 6 }, () => value);

test("reports the medians of each entrant's rounds, and no ratio for the first entrant", () => {
  const samples = [sample(10, 100, 30), sample(30, 300, 10), sample(20, 200, 20)];
  const run = () => Promise.resolve(sample(0, 0, 0));
  const [standing] = standingsOf([
    { contest: { title: 'work', entrants: [{ title: 'gateway', run }] }, samples: [samples] },
  ]);
  expect(standing?.entrants).toEqual([
    {
      title: 'gateway',
      perSecond: { median: 20, least: 10, most: 30 },
      p50: 1,
      p99: 2,
      cpuMicros: 200,
      postgresMicros: 20,
      samples,
    },
  ]);
});

test('compares rates and total processor time of server and PostgreSQL within the same round', () => {
  const peer = compare([0.5, 0.6, 0.7, 0.8, 0.9, 1], [1, 1.2, 1.4, 1.6, 1.8, 2]);
  expect(peer?.ratio).toMatchObject({ median: 0.75, low: 0.5, high: 1 });
  expect(peer?.cost?.median).toBeCloseTo(1.5);
  expect(peer?.cost).not.toHaveProperty('verdict');
});

describe('a target', () => {
  test.each([
    ['for the rate is reached at or above it', same(0.8), 'reached'],
    ['for the rate is missed below it', same(0.6), 'missed'],
    [
      'for the rate is reached, but not surely, if it lies within the interval',
      [0.6, 0.71, 0.8, 0.8, 0.9, 0.9],
      'reached, not surely',
    ],
    [
      'for the rate is missed, but not surely, if it lies within the interval',
      [0.5, 0.6, 0.65, 0.65, 0.7, 0.9],
      'missed, not surely',
    ],
  ])('%s', (_what, rates, verdict) => {
    expect(compare(rates, same(1), { rate: 0.7 })?.ratio?.verdict).toBe(verdict);
  });

  test.each([
    ['for the cost is reached at or below it', same(1.5), 'reached'],
    ['for the cost is missed above it', same(1.7), 'missed'],
    [
      'for the cost is reached, but not surely, if it lies within the interval',
      [1, 1.2, 1.4, 1.5, 1.7, 1.8],
      'reached, not surely',
    ],
    [
      'for the cost is missed, but not surely, if it lies within the interval',
      [1.2, 1.5, 1.7, 1.8, 2, 2],
      'missed, not surely',
    ],
  ])('%s', (_what, costs, verdict) => {
    expect(compare(same(1), costs, { cost: 1.6 })?.cost?.verdict).toBe(verdict);
  });
});
