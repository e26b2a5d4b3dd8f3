import { expect, test } from 'vitest';
import { readOptions } from '../../bench/options.ts';

const defaults = { usual: { rounds: 9, seconds: 3 }, quick: { rounds: 2, seconds: 1 } };
const read = (...args: string[]) => readOptions(args, ['publish', 'dismiss'], defaults);

test('rounds and seconds default to lower values with --quick, and can be set', () => {
  expect(read()).toMatchObject({ rounds: 9, seconds: 3, isQuick: false, only: [] });
  expect(read('--quick')).toMatchObject({ rounds: 2, seconds: 1, isQuick: true });
  expect(read('--quick', '--rounds', '5', '--seconds', '7')).toMatchObject({ rounds: 5, seconds: 7 });
  expect(read('--without', 'announcements').without).toEqual(['announcements']);
  expect(read('--only', 'publish', '--only', 'dismiss').only).toEqual(['publish', 'dismiss']);
});

test.each([
  ['an unknown workload', ['--only', 'nothing'], /--only nothing: must be one of publish, dismiss/],
  ['an unknown piece', ['--without', 'nothing'], /--without nothing: must be one of announcements, /],
  ['rounds that are no number', ['--rounds', 'many'], /--rounds many: must be a whole number/],
  ['no seconds', ['--seconds', '0'], /--seconds 0: must be a whole number/],
  ['an unknown option', ['--fast'], /--fast/],
])('rejects %s', (_what, args, message) => {
  expect(() => read(...args)).toThrow(message);
});
