import { parseArgs } from 'node:util';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatScopes, grants, parseScopes, type ScopeRules } from '../../src/auth/scopes.ts';
import { readTokenOptions, tokenOptions } from '../../src/commands/token-options.ts';
import { readConfig } from '../../src/config.ts';
import { UnauthenticatedError } from '../../src/errors/gateway-errors.ts';

const defaults = readConfig({}).scopes;
const account = ['account:read', 'account:write'];
const platformWrite = [
  'platform:admin',
  'platform:contacts',
  'platform:notifications',
  'platform:workspaces',
];

const parse = (claims: object, rules: Partial<ScopeRules> = {}) =>
  [...parseScopes({ ...claims }, { ...defaults, ...rules })].sort();

test.each<[scope: unknown, granted: string[]]>([
  ['account:read', ['account:read']],
  ['account:write', account],
  ['platform:write', platformWrite],
  ['openid  profile account:read account:read', ['account:read']],
  [['openid', 'account:write'], account],
])('the scope %j grants %j', (scope, granted) => {
  expect(parse({ scope })).toEqual(granted);
  expect(parse({ scp: scope })).toEqual(granted);
  expect(parse({ scope }, { required: true })).toEqual(granted);
});

test.each<[what: string, claims: object]>([
  ['without a claim', {}],
  ['with every sign-in scope', { scope: 'openid profile email address phone offline_access' }],
  ['with sign-in scopes in one claim and an empty other one', { scope: '', scp: ['openid'] }],
])('a token %s has its account, and nothing if scopes are required', (_what, claims) => {
  expect(parse(claims)).toEqual(account);
  expect(parse(claims, { required: true })).toEqual([]);
});

test.each<[scope: unknown]>(
  [
    ...[' ', [], [''], 'openid orders:read', ['openid profile'], ['account:read account:write']],
    ...['ACCOUNT:READ', 'OpenID', 'account:*', 'account:read,account:write', 'constructor __proto__'],
    ...['account:read\tplatform:write', 'account:read\nplatform:write'],
  ].map((scope) => [scope]),
)('the scope %j grants nothing', (scope) => {
  expect(parse({ scope })).toEqual([]);
});

test.each([null, 1, true, {}, { 0: 'account:read' }, ['account:read', 1], [['account:read']], [null]])(
  'the claim %j is rejected',
  (value) => {
    expect(() => parse({ scope: value })).toThrow(UnauthenticatedError);
    expect(() => parse({ scope: 'account:read', scp: value })).toThrow(UnauthenticatedError);
  },
);

test('platform:task is refused beside an unknown scope of the gateway, and accepted beside those of others', () => {
  expect(() => parse({ scope: 'platform:task', scp: 'platform:unknown' })).toThrow(UnauthenticatedError);
  expect(parse({ scope: 'openid orders:read platform:task tasks platform' })).toEqual(['platform:task']);
  const scope = 'gateway/platform:task account:read platform:write';
  expect(parse({ scope }, { prefix: 'gateway/' })).toEqual(['platform:task']);
});

test('AUTH_SCOPE_CLAIMS names the claims whose scopes are united; others are not checked', () => {
  const claims = { scope: 'openid account:read', scp: ['platform:read'], roles: ['platform:admin'] };
  expect(parse(claims)).toEqual(['account:read', 'platform:read']);
  expect(parse(claims, { claims: ['roles'] })).toEqual(['platform:admin']);
  expect(parse(claims, { claims: ['scp', 'roles'] })).toEqual(['platform:admin', 'platform:read']);
  expect(parse(claims, { claims: ['permissions'] })).toEqual(account);
  expect(parse({ ...claims, scp: 7 }, { claims: ['scope'] })).toEqual(['account:read']);
});

test.each<[scope: string, granted: string[]]>([
  ['gateway/account:read account:write', ['account:read']],
  ['gateway/openid', account],
  ['openid account:write', []],
  ['GATEWAY/account:write', []],
  ['gateway/gateway/account:write', []],
  ['openid gateway/', []],
])('with AUTH_SCOPE_PREFIX=gateway/, the scope %j grants %j', (scope, granted) => {
  expect(parse({ scope }, { prefix: 'gateway/' })).toEqual(granted);
});

const names = fc.array(
  fc.constantFrom(...grants.keys(), 'openid', 'profile', 'platform', 'account:writes', 'gateway/openid'),
  { minLength: 1 },
);
const prefixes = fc.constantFrom('', 'gateway/', 'https://gateway.example.com/');

test('grants exactly what the named scopes include, and refuses platform:task beside others, in every shape and with every prefix', () => {
  fc.assert(
    fc.property(names, prefixes, fc.boolean(), fc.nat(), (named, prefix, required, split) => {
      const rules = { prefix, required };
      const sent = named.map((name) => (grants.has(name) ? prefix + name : name));
      const isSignIn = sent.every((name) => ['openid', 'profile'].includes(name.replace(prefix || /^$/, '')));
      const included = new Set(named.flatMap((name) => grants.get(name) ?? []));
      const expected = isSignIn ? (required ? [] : account) : [...included].sort();

      const own = sent.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
      const isOther = (name: string) => /^(account|platform):/.test(name) && name !== 'platform:task';
      const isRefused = own.includes('platform:task') && own.some(isOther);

      const at = split % (sent.length + 1);
      for (const claims of [
        { scope: sent.join(' ') },
        { scp: sent },
        { scope: sent.slice(0, at).join(' '), scp: sent.slice(at) },
      ]) {
        if (isRefused) expect(() => parse(claims, rules)).toThrow(UnauthenticatedError);
        else expect(parse(claims, rules)).toEqual(expected);
      }
    }),
  );
});

test('the scopes of development tokens are read with the same settings', () => {
  for (const claims of [['scope', 'scp'], ['permissions']]) {
    for (const prefix of ['', 'gateway/']) {
      const rules = { ...defaults, claims, prefix };
      const claim = formatScopes('openid account:read platform:admin', rules);
      expect(Object.keys(claim)).toEqual(claims.slice(0, 1));
      expect(parse(claim, rules)).toEqual(['account:read', 'platform:admin']);
    }
  }
});

const alice = ['--sub', 'alice'];
const readOptions = (args: string[]) => readTokenOptions(parseArgs({ args, options: tokenOptions }).values);

test.each([
  [[], 3600],
  [['--ttl', '30s'], 30],
  [['--ttl', '5m'], 300],
  [['--ttl', '2h'], 7200],
  [['--ttl', '1d'], 86_400],
])('a development token with the options %j is valid for %i s', (options, seconds) => {
  expect(readOptions([...alice, ...options])).toMatchObject({ sub: 'alice', seconds });
});

test.each([
  [['--org', 'acme'], '--sub must be a user ID'],
  [['--sub', ''], '--sub must be a user ID'],
  [[...alice, '--org', ''], '--org must not be empty'],
  [
    [...alice, '--user', 'bob'],
    '--user is the user of a --task. Add --task, or name the user with --sub only.',
  ],
  [[...alice, '--task', 'task-1'], '--task requires --user, the user of the task.'],
  [['--user', 'alice', '--task', ''], '--task must be a task ID'],
  [['--user', '', '--task', 'task-1'], '--user must be a user ID'],
  [[...alice, '--ttl', '1y'], '--ttl must be a number followed by s, m, h or d'],
  [[...alice, '--ttl', '0h'], '--ttl must be a number followed by s, m, h or d'],
  [[...alice, '--admin'], "Unknown option '--admin'"],
  [['alice'], 'Unexpected argument'],
])('no development token has the options %j', (args, message) => {
  expect(() => readOptions(args)).toThrow(message);
});
