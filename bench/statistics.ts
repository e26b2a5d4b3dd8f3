/** The value that a share of all values, from 0 to 1, does not exceed; of no values it is not a number. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** The present time in milliseconds since 1970, finer than `Date.now()`; comparable between processes. */
export function preciseNow(): number {
  return performance.timeOrigin + performance.now();
}
