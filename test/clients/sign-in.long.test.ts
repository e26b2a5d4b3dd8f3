import { spawn } from 'node:child_process';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { describeInChromium } from '../support/browser.ts';
import { startDevelopmentGateway } from '../support/development.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { captureOutput, type Process } from '../support/process.ts';
import { type IdentityProvider, startIdentityProvider } from './identity-provider.ts';

/* The example of docs/sign-in.md, with an identity provider and a gateway. */

const MEMBER = { sub: 'alice', aud: 'account-gateway', org_id: 'acme', scope: 'openid account:read' };
const SIGN_IN = 'sign-in: openid offline_access account:read';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const CHANNELS =
  'plan_requested: email\nquestion_requested: email\ntask_failed: email\ntask_response_ready: email\n';

let folder: string;
let tokenFile: string;
let provider: IdentityProvider;
let gateway: TestGateway;
beforeEach(async () => {
  folder = await makeFolder();
  tokenFile = join(folder, 'tokens.json');
  provider = await startIdentityProvider(MEMBER);
  gateway = await startTestGateway({
    AUTH_JWKS: '',
    AUTH_JWKS_URL: `${provider.url}/jwks`,
    AUTH_ISSUER: provider.url,
    AUTH_AUDIENCE: MEMBER.aud,
    RATE_LIMIT_READS_PER_MINUTE: '3',
  });
});
afterEach(async () => {
  await gateway.close();
  await provider.close();
  await removeFolder(folder);
});

/** Starts a program that is not bundled. */
function spawnProgram(path: string, env: Record<string, string>, options: readonly string[] = []) {
  const program = fileURLToPath(new URL(`../../${path}`, import.meta.url));
  const child = spawn(process.execPath, [program, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return { child, captured: captureOutput(child, program) };
}

const startExample = (ISSUER: string, CLIENT_ID: string, GATEWAY_URL: string) =>
  spawnProgram('examples/rest-client/sign-in.ts', { ISSUER, CLIENT_ID, GATEWAY_URL, TOKEN_FILE: tokenFile });

/** Starts the example. When it asks the user to sign in, the user does. */
function start(): Process {
  const { child, captured } = startExample(provider.url, 'cli', gateway.address);
  child.stderr.on('data', (text) => {
    const [, code] = /\/device and enter the code (\S+)/.exec(String(text)) ?? [];
    if (code !== undefined) provider.approve(code);
  });
  return captured;
}

const run = () => start().ended;
const readTokens = async () => JSON.parse(await readFile(tokenFile, 'utf8'));

/** Replaces the stored access token by one that the gateway does not accept. */
async function expireToken() {
  await writeFile(tokenFile, JSON.stringify({ ...(await readTokens()), access_token: 'expired' }));
}

test('signs in on another device, and keeps the tokens in a file that only the user can read', async () => {
  for (const error of ['authorization_pending', 'slow_down']) provider.replyOnce(error);
  expect(await run()).toMatchObject({ status: 0, stdout: CHANNELS });
  expect(provider.grants).toEqual([SIGN_IN, DEVICE_GRANT]);
  expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);

  expect(await run()).toEqual({ status: 0, stdout: CHANNELS, stderr: '' });
  expect(provider.grants).toHaveLength(2);
});

test('reports that the user has refused to sign in', async () => {
  provider.replyOnce('access_denied');
  expect(await run()).toMatchObject({ status: 1, stderr: expect.stringContaining('access_denied') });
});

test('refreshes a token once, and signs in again if the refresh token is refused', async () => {
  await run();
  const { refresh_token: first } = await readTokens();
  await expireToken();
  expect(await run()).toEqual({ status: 0, stdout: CHANNELS, stderr: '' });
  expect((await readTokens()).refresh_token).not.toBe(first);
  expect((await stat(tokenFile)).mode & 0o777).toBe(0o600);

  await expireToken();
  provider.revoke();
  expect(await run()).toMatchObject({ status: 0, stdout: CHANNELS });
  expect(provider.grants.slice(2)).toEqual(['refresh_token', SIGN_IN, DEVICE_GRANT]);
});

test('gives up when the gateway also refuses the tokens of a refresh and of a new sign-in', async () => {
  provider.setLifetime(-60);
  expect(await run()).toMatchObject({ status: 1, stdout: '' });
  expect(provider.grants).toEqual([SIGN_IN, DEVICE_GRANT, 'refresh_token', SIGN_IN, DEVICE_GRANT]);
});

test.each([
  { claims: { org_id: undefined }, message: 'Join an organization' },
  { claims: { scope: 'openid orders:read' }, message: 'account:read' },
])('reports why the token has no access: $message', async ({ claims, message }) => {
  provider.claims = { ...MEMBER, ...claims };
  expect(await run()).toMatchObject({ status: 1, stdout: '', stderr: expect.stringContaining(message) });
  expect(provider.grants).toEqual([SIGN_IN, DEVICE_GRANT]);
});

test('waits when the rate limit is exceeded', async () => {
  for (const _ of Array(3)) await run();
  const program = start();
  await eventually(() => expect(program.stderr()).toMatch(/^Waiting \d+ seconds$/m));
  await program.stop();
});

test.each([
  ['--port', 'http'],
  ['--port', '65536'],
])('npm run dev:sign-in refuses %s %s', async (...options) => {
  const { captured } = spawnProgram('dev/sign-in.ts', {}, options);
  expect(await captured.ended).toMatchObject({
    status: 1,
    stdout: '',
    stderr: expect.stringMatching(/^--port must be a whole number from 0 to 65535\.\nUsage: /),
  });
});

describeInChromium('npm run dev:sign-in', (open) => {
  test('signs in at the provider, and refreshes the token', async () => {
    const development = await startDevelopmentGateway();
    const { captured: local } = spawnProgram('dev/sign-in.ts', development.settings, ['--port', '0']);
    onTestFinished(async () => {
      await local.stop();
      await development.close();
    });
    const issuer = await local.waitForOutput(/^Listening on (\S+)\./);
    const run = () => startExample(issuer, 'account-cli', development.address).captured;
    const first = run();
    const line = /^Open (\S+) and enter the code (\S+)$/m;
    await eventually(() => expect(first.stderr()).toMatch(line));
    const [, uri = '', code = ''] = line.exec(first.stderr()) ?? [];
    const { page } = await open(uri);
    await page.getByRole('textbox').fill(code);
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByRole('button', { name: 'Continue', exact: true }).click();
    await page.getByPlaceholder('Enter any login').fill('alice');
    await page.getByPlaceholder('and password').fill('any');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByText('Your sign-in was successful').waitFor();
    expect(await first.ended).toMatchObject({ status: 0, stdout: CHANNELS });

    await expireToken();
    expect(await run().ended).toEqual({ status: 0, stdout: CHANNELS, stderr: '' });
  });
});
