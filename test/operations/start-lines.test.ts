import { expect, test } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { listStartLines } from '../../src/server/start-lines.ts';
import { Secret } from '../../src/values/secret.ts';

const pageKey = new Secret('page-key');
const started = { address: 'http://127.0.0.1:4000', adminAddress: undefined, pageKey };

test('with default settings the printed commands contain no settings', () => {
  expect(listStartLines(readConfig({}), started).slice(-2)).toEqual([
    'A token   npm run -s token -- --sub alice --org acme',
    'Records   npm run -s seed -- --user alice',
  ]);
});

test('a line states where scopes are read and what a token without them may do', () => {
  const findLine = (settings: Record<string, string>) =>
    listStartLines(readConfig(settings), started).find((line) => line.startsWith('Scopes'));
  const without = 'a token without them, or with sign-in scopes only,';
  expect(findLine({})).toBe(`Scopes    scope, scp; ${without} has its user's account`);
  expect(
    findLine({ AUTH_SCOPE_CLAIMS: 'scp', AUTH_SCOPE_PREFIX: 'gateway/', AUTH_REQUIRE_SCOPES: 'true' }),
  ).toBe(`Scopes    scp without gateway/; ${without} has no access`);
});

test('the printed commands contain the settings of scopes and tasks, and a scope if scopes are required', () => {
  const settings = {
    AUTH_SCOPE_CLAIMS: 'scp scope',
    AUTH_SCOPE_PREFIX: 'gateway/',
    AUTH_REQUIRE_SCOPES: 'true',
    AUTH_TASK_USER_CLAIM: 'sub',
    AUTH_TASK_CLAIM: 'task',
  };
  const printed = "AUTH_SCOPE_CLAIMS='scp scope' AUTH_SCOPE_PREFIX=gateway/";
  const claims = 'AUTH_TASK_USER_CLAIM=sub AUTH_TASK_CLAIM=task';
  expect(listStartLines(readConfig(settings), started).slice(-2)).toEqual([
    `A token   ${printed} ${claims} npm run -s token -- --sub alice --org acme --scope account:write`,
    `Records   ${printed} npm run -s seed -- --user alice`,
  ]);
});

test('a line names the channels over which the gateway sends', () => {
  const email = { SMTP_URL: 'smtp://127.0.0.1:1025', SMTP_FROM: 'no-reply@example.com' };
  const listLines = (settings: Record<string, string>) =>
    listStartLines(readConfig(settings), started).filter((line) => line.startsWith('Delivers'));
  expect(listLines({ ...email, CHAT_TOKEN: 'xoxb-1' })).toEqual(['Delivers  email, chat']);
  expect(listLines({ ...email, DELIVERY: 'false' })).toEqual([]);
  expect(listLines({})).toEqual([]);
});

test('the URLs begin with PUBLIC_URL, which clients use, instead of the address behind a proxy', () => {
  const config = readConfig({ GRAPHIQL: 'true', PUBLIC_URL: 'https://example.test/account/' });
  expect(listStartLines(config, started)).toEqual(
    expect.arrayContaining([
      'GraphiQL  https://example.test/account/graphql#key=page-key',
      'REST      https://example.test/account/docs#key=page-key',
    ]),
  );
});

test('the URLs of pages have no key if they cannot get a token', () => {
  const lines = listStartLines(readConfig({}), { ...started, pageKey: undefined });
  expect(lines).toContain('GraphiQL  http://127.0.0.1:4000/graphql');
  expect(lines).toContain('REST      http://127.0.0.1:4000/docs');
});
