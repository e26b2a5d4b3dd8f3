import { expect, test } from 'vitest';
import { parseTokenOptions } from '../../src/commands/token-options.ts';

const alice = ['--sub', 'alice'];

test.each([
  ['30s', 30],
  ['5m', 300],
  ['2h', 7200],
  ['1d', 86_400],
])('--ttl %s is %i seconds', (ttl, seconds) => {
  expect(parseTokenOptions([...alice, '--ttl', ttl]).seconds).toBe(seconds);
});

test('without --ttl, a token is valid for one hour', () => {
  expect(parseTokenOptions(alice)).toEqual({
    sub: 'alice',
    org: undefined,
    scope: undefined,
    task: undefined,
    seconds: 3600,
  });
});

test.each([
  [['--org', 'acme'], '--sub must be a user ID'],
  [['--sub', ''], '--sub must be a user ID'],
  [['--sub', 'a'.repeat(256)], '--sub must be a user ID'],
  [[...alice, '--org', ''], '--org must not be empty'],
  [[...alice, '--task', 'task-1'], '--user and --task must both be IDs'],
  [[...alice, '--user', 'alice', '--task', ''], '--user and --task must both be IDs'],
  [[...alice, '--ttl', '1y'], '--ttl must be a number followed by s, m, h or d'],
  [[...alice, '--ttl', '0h'], '--ttl must be a number followed by s, m, h or d'],
  [[...alice, '--admin'], "Unknown option '--admin'"],
  [['alice'], 'Unexpected argument'],
])('rejects %j', (args, message) => {
  expect(() => parseTokenOptions(args)).toThrow(message);
});
