import replies from './examples.json' with { type: 'json' };

/*
 * Replies of a gateway. test/openapi-examples.test.ts compares them, and updates the file with
 * `npx vitest run test/openapi-examples.test.ts -u`.
 */
const all: Readonly<Record<string, Readonly<Record<string, unknown>>>> = replies;

/**
 * Returns the examples of these keys: an error code, or an operation followed by `.request`, `.reply` or an error code.
 */
export function pickExamples(...keys: readonly string[]) {
  const named = keys.flatMap((key) => Object.entries(all[key] ?? {}));
  return Object.fromEntries(named.map(([name, value]) => [name, { value }]));
}
