import { afterEach, beforeEach, expect, type MockInstance, vi } from 'vitest';

/** Fails each of the following tests in which a client logs a warning or an error. */
export function expectNoWarnings(): void {
  let spies: MockInstance[] = [];
  beforeEach(() => {
    spies = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')];
  });
  afterEach(() => {
    const logged = spies.flatMap(({ mock }) => mock.calls.map((values) => values.join(' ')));
    for (const spy of spies) spy.mockRestore();
    expect(logged).toEqual([]);
  });
}
