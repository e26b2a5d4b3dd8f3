import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseScopes, scopes } from '../src/auth/viewer.ts';

test.each<[claim: string | undefined, granted: string[]]>([
  [undefined, ['account:read', 'account:write']],
  ['', []],
  [' ', []],
  ['account:read', ['account:read']],
  ['account:write', ['account:read', 'account:write']],
  ['platform:write', ['platform:write']],
  ['platform:read', ['platform:read']],
  ['platform:credentials', ['platform:credentials']],
  ['platform:read account:read', ['account:read', 'platform:read']],
  ['account:read account:read', ['account:read']],
  ['openid  profile account:read', ['account:read']],
  ['ACCOUNT:READ', []],
  ['account', []],
  ['account:*', []],
  ['account:read,account:write', []],
  ['account:read\tplatform:write', []],
  ['account:read\nplatform:write', []],
])('the scope claim %j grants %j', (claim, granted) => {
  expect([...parseScopes(claim)].sort()).toEqual(granted);
});

test('grants exactly the named scopes, and account:read with account:write', () => {
  const claims = fc.array(fc.constantFrom(...scopes, 'openid', 'platform', 'account:writes', ''));
  fc.assert(
    fc.property(claims, (names) => {
      const named = new Set(names);
      if (named.has('account:write')) named.add('account:read');
      expect(parseScopes(names.join(' '))).toEqual(new Set(scopes.filter((scope) => named.has(scope))));
    }),
  );
});
