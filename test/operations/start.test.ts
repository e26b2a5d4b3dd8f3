import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openKeySet } from '../../src/auth/key-set.ts';
import { readDevelopmentEncryptionKeys } from '../../src/config/development-keys.ts';
import { readConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/errors/failure.ts';
import { createLog } from '../../src/log.ts';
import { listen } from '../../src/server/listen.ts';
import { listStartLines } from '../../src/server/start-lines.ts';
import { Secret } from '../../src/values/secret.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { runProcess } from '../support/process.ts';

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => removeFolder(folder));

test.each(['a-file', 'a-file/below'])('exits with status 1 if DATA_DIR is not a folder: %s', async (name) => {
  await writeFile(join(folder, 'a-file'), '');
  const path = join(folder, name);
  const ended = await runProcess('src/main.ts', { DATA_DIR: path, PORT: '0', GRAPHIQL: 'false' });
  expect(ended).toEqual({
    status: 1,
    stdout: '',
    stderr: `${path} is not a directory. Set DATA_DIR to a directory.\n`,
  });
});

test.each([
  [
    'signing-key.json',
    ['', 'nonsense', '{}', '{"kty":"OKP"}'],
    'does not contain an Ed25519 key. Delete it',
    () => openKeySet(readConfig({ DATA_DIR: folder }), createLog('silent', { write: () => undefined })),
  ],
  [
    'encryption-key',
    ['', 'nonsense', 'c2hvcnQ='],
    'does not contain 32 bytes in base64. Restore it',
    () => readDevelopmentEncryptionKeys(folder),
  ],
])('reports an invalid file %s with its path and a fix: %j', async (name, contents, problem, open) => {
  const path = join(folder, name);
  for (const content of contents) {
    await writeFile(path, content);
    await expect(open()).rejects.toThrow(OperatorError);
    await expect(open()).rejects.toThrow(`${path} ${problem}`);
  }
});

test('reports a host that is not an address of this machine', async () => {
  const listening = listen(createServer(), { host: '192.0.2.1', port: 0 });
  await expect(listening).rejects.toThrow(OperatorError);
  await expect(listening).rejects.toThrow(/^"192\.0\.2\.1" is not an address of this machine\. Set HOST /);
});

const pageKey = new Secret('page-key');
const started = { address: 'http://127.0.0.1:4000', adminAddress: undefined, pageKey };

test('a line states where scopes are read and what a token without them may do', () => {
  const findLine = (settings: Record<string, string>) =>
    listStartLines(readConfig(settings), started).find((line) => line.startsWith('Scopes'));
  const without = 'a token without them, or with sign-in scopes only,';
  expect(findLine({})).toBe(`Scopes    scope, scp; ${without} has its user's account`);
  expect(
    findLine({ AUTH_SCOPE_CLAIMS: 'scp', AUTH_SCOPE_PREFIX: 'gateway/', AUTH_REQUIRE_SCOPES: 'true' }),
  ).toBe(`Scopes    scp without gateway/; ${without} has no access`);
});

test('the printed commands contain the settings of scopes and tasks, if there are any, and a scope if it is required', () => {
  expect(listStartLines(readConfig({}), started).slice(-2)).toEqual([
    'A token   npm run -s token -- --sub alice --org acme',
    'Records   npm run -s seed -- --user alice',
  ]);
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

test('the URLs begin with PUBLIC_URL, if it is set, and have no key if their pages cannot get a token', () => {
  const behindProxy = readConfig({ GRAPHIQL: 'true', PUBLIC_URL: 'https://example.test/account/' });
  expect(listStartLines(behindProxy, started)).toEqual(
    expect.arrayContaining([
      'GraphiQL  https://example.test/account/graphql#key=page-key',
      'REST      https://example.test/account/docs#key=page-key',
    ]),
  );
  expect(listStartLines(readConfig({}), { ...started, pageKey: undefined })).toEqual(
    expect.arrayContaining([
      'GraphiQL  http://127.0.0.1:4000/graphql',
      'REST      http://127.0.0.1:4000/docs',
    ]),
  );
});
