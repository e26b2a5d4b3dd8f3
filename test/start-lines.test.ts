import { expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { listStartLines } from '../src/server/start-lines.ts';

const started = { address: 'http://127.0.0.1:4000', adminAddress: undefined };

test('with default settings the printed commands contain no settings', () => {
  expect(listStartLines(readConfig({}), started).slice(-2)).toEqual([
    'A token   npm run -s token -- --sub alice --org acme',
    'Records   npm run -s seed -- --user alice',
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
      'GraphiQL  https://example.test/account/graphql',
      'REST      https://example.test/account/docs',
    ]),
  );
});
