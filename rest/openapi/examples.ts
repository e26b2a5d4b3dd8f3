import replies from './examples.json' with { type: 'json' };

/*
 * What a gateway really answered: test/openapi-examples.test.ts asks for all of it again, and writes the file anew
 * with `npx vitest run test/openapi-examples.test.ts -u`.
 */
const all: Readonly<Record<string, Readonly<Record<string, unknown>>>> = replies;

/** The examples of these keys: a code of an error, or an operation with `.request` or `.reply` behind it. */
export function pickExamples(...keys: readonly string[]) {
  const named = keys.flatMap((key) => Object.entries(all[key] ?? {}));
  return Object.fromEntries(named.map(([name, value]) => [name, { value }]));
}
