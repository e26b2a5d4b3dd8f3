import { expect, test } from 'vitest';
import { isShownId, SEPARATOR } from '../../src/delivery/shown-deliveries.ts';

const join = (...parts: string[]) => parts.join(SEPARATOR);

test.each([
  ['n-1', true],
  [join('n-1', 'email', ''), true],
  [join('n-1', 'push', 'subscription'), true],
  ['', false],
  [join('', 'email', ''), false],
  [join('n'.repeat(256), 'email', ''), false],
  [join('n-1', 'fax', ''), false],
  [join('n-1', 'push', 'x'.repeat(256)), false],
  [join('n-1', 'push', 'subscription', 'more'), false],
])('whether a cursor may have the ID %j of a delivery: %s', (text, isValid) => {
  expect(isShownId(text)).toBe(isValid);
});
