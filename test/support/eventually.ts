import { vi } from 'vitest';

/** Waits until a check passes, far longer than it takes: a busy machine must not fail a test. Answers what it answers. */
export function eventually<Result>(check: () => Result | Promise<Result>): Promise<Result> {
  return vi.waitFor(check, { timeout: 20_000, interval: 20 });
}
