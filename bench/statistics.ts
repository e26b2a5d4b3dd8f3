/**
 * Returns the smallest of the values that is greater than or equal to at least `share` (0 to 1) of them; NaN for no
 * values.
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** Returns the median; NaN for no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? Number.NaN) + (sorted[Math.floor(middle)] ?? Number.NaN)) / 2;
}

/** A confidence interval. */
export type Interval = { low: number; high: number; confidence: number };

/**
 * Returns the narrowest symmetric confidence interval of the median with a confidence of at least 0.95, by the sign
 * test, for any distribution. Fewer than six values give the interval from minimum to maximum, with a lower confidence.
 */
export function medianInterval(values: readonly number[]): Interval {
  const sorted = values.toSorted((left, right) => left - right);
  let cut = 0;
  while (computeConfidence(sorted.length, cut + 1) >= 0.95) cut += 1;
  return {
    low: sorted[cut] ?? Number.NaN,
    high: sorted[sorted.length - 1 - cut] ?? Number.NaN,
    confidence: computeConfidence(sorted.length, cut),
  };
}

/** Computes the probability that the median is among the values left after removing `cut` at each end. */
function computeConfidence(count: number, cut: number): number {
  let outside = 0;
  let combinations = 1;
  for (let below = 0; below <= cut; below += 1) {
    outside += combinations / 2 ** count;
    combinations = (combinations * (count - below)) / (below + 1);
  }
  return 1 - 2 * outside;
}
