import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config.ts';
import { listStartLines } from '../src/process/start-lines.ts';
import { rest } from './support/client.ts';
import { copyCluster } from './support/cluster.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { type GatewayProcess, startGatewayProcess } from './support/process.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));

let folder: string;
let gateway: GatewayProcess;
beforeAll(async () => {
  folder = await makeFolder();
  const dataDir = join(folder, "alice's data");
  await copyCluster(dataDir);
  gateway = await startGatewayProcess({
    DATA_DIR: dataDir,
    AUTH_ISSUER: 'http://localhost/?a&b',
    AUTH_ORG_CLAIM: 'organization',
    RATE_LIMIT_READ_PER_MINUTE: '10',
    LOG_LEVEL: 'warn',
  });
});
afterAll(async () => {
  await gateway.stop();
  await removeFolder(folder);
});

/** Runs a printed command as if pasted into a terminal. */
async function paste(name: string) {
  const command = await gateway.waitForOutput(new RegExp(`^${name} +(.*)$`, 'm'));
  const { PATH, HOME } = process.env;
  return promisify(execFile)('sh', ['-c', command], { cwd: repository, env: { PATH, HOME } });
}

test('the printed commands work with the current settings', { timeout: 60_000 }, async () => {
  const { stdout, stderr } = await paste('A token');
  expect(stderr).toBe('');
  const token = stdout.trim();
  expect((await rest(gateway, 'GET', '/editor/auth', { token })).status).toBe(200);

  await paste('Records');
  const { body } = await rest(gateway, 'GET', '/user/workspaces', { token });
  expect(body.workspaces.length).toBeGreaterThan(0);
});

test('with default settings the printed commands contain no settings', () => {
  const started = { address: 'http://127.0.0.1:4000', adminAddress: undefined };
  expect(listStartLines(readConfig({}), started).slice(-2)).toEqual([
    'A token   npm run -s token -- --sub alice --org acme',
    'Records   npm run -s seed -- --user alice',
  ]);
});

test('a line names the channels over which the gateway sends', () => {
  const started = { address: 'http://127.0.0.1:4000', adminAddress: undefined };
  const email = { SMTP_URL: 'smtp://127.0.0.1:1025', SMTP_FROM: 'no-reply@example.com' };
  const listLines = (settings: Record<string, string>) =>
    listStartLines(readConfig(settings), started).filter((line) => line.startsWith('Delivers'));
  expect(listLines({ ...email, CHAT_TOKEN: 'xoxb-1' })).toEqual(['Delivers  email, chat']);
  expect(listLines({ ...email, DELIVERY: 'false' })).toEqual([]);
  expect(listLines({})).toEqual([]);
});

test('logs a warning for a misspelled setting', async () => {
  const line = await gateway.waitForOutput(/^(\{.*RATE_LIMIT_READ_PER_MINUTE.*\})$/m);
  expect(JSON.parse(line)).toMatchObject({
    level: 40,
    msg: 'RATE_LIMIT_READ_PER_MINUTE: is not a setting and is ignored; did you mean RATE_LIMIT_READS_PER_MINUTE?',
  });
});
