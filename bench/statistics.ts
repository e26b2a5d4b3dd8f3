/** The value that a share of all values, from 0 to 1, does not exceed; of no values it is not a number. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The middle value, or between the two in the middle; of no values it is not a number. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** Two values that a median lies between, and the probability that it does. */
export type Interval = { low: number; high: number; confidence: number };

/**
 * The narrowest interval of the median between two of the values, equally far from both ends, that holds it with a
 * probability of 0.95 or more; of fewer than six values it is the one from the smallest to the largest, which holds
 * less. It supposes nothing of how the values are distributed.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((left, right) => left - right);
  let cut = 0;
  while (confidenceOf(sorted.length, cut + 1) >= 0.95) cut += 1;
  return {
    low: sorted[cut] ?? Number.NaN,
    high: sorted[sorted.length - 1 - cut] ?? Number.NaN,
    confidence: confidenceOf(sorted.length, cut),
  };
}

/** The probability that a median lies between the values left when so many are cut off at each end. */
function confidenceOf(count: number, cut: number): number {
  let outside = 0;
  let ways = 1;
  for (let below = 0; below <= cut; below += 1) {
    outside += ways / 2 ** count;
    ways = (ways * (count - below)) / (below + 1);
  }
  return 1 - 2 * outside;
}
