import { vi } from 'vitest';

/**
 * Retries a check until it passes and returns its result. The timeout is generous, so that a busy machine does not
 * fail the test.
 */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: 20_000, interval: 20 });
}
