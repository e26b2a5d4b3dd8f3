import { describe, expect, test } from 'vitest';
import { median, medianInterval, quantile } from '../../bench/statistics.ts';

const range = (count: number) => Array.from({ length: count }, (_, index) => count - index);

describe('median', () => {
  test('returns the middle value', () => expect(median([5, 1, 3])).toBe(3));
  test('returns the mean of the two middle values', () => expect(median([4, 1, 2, 10])).toBe(3));
  test('returns NaN for no values', () => expect(median([])).toBeNaN());
});

describe('medianInterval', () => {
  // The confidence is 1 - 2 * P(X <= cut) for that many tosses of a fair coin, as in tables of the sign test.
  test.each([
    { count: 3, low: 1, high: 3, confidence: 0.75 },
    { count: 6, low: 1, high: 6, confidence: 0.96875 },
    { count: 8, low: 1, high: 8, confidence: 0.9921875 },
    { count: 9, low: 2, high: 8, confidence: 0.9609375 },
    { count: 20, low: 6, high: 15, confidence: 0.958610534667969 },
  ])(
    'excludes as many of $count values as a confidence of 95 % allows',
    ({ count, low, high, confidence }) => {
      const interval = medianInterval(range(count));
      expect(interval).toEqual({ low, high, confidence: expect.closeTo(confidence, 10) });
    },
  );
});

test('quantile returns the smallest value that the given share of values does not exceed', () => {
  expect([0, 0.5, 0.51, 0.99, 1].map((share) => quantile(range(100), share))).toEqual([1, 50, 51, 99, 100]);
});
