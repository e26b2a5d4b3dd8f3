import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { readConfig, settingNames } from '../../src/config.ts';
import { timeouts } from '../../src/server/connections.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { filledExample, readBlocks, readPage, readRepositoryFile } from '../support/documentation.ts';
import { settingsFor } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { captureOutput, compileCache, type Process, startProcess } from '../support/process.ts';
import { freePort } from '../support/servers.ts';

const NAME = 'workspace-account-gateway@.service';
const INSTALLED = '/opt/workspace-account-gateway';

/** The unit of instance 1. */
const unit = (await readRepositoryFile(`ops/${NAME}`)).replaceAll('%i', '1');
const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Returns the values of a directive, in order. */
const readValues = (directive: string) =>
  [...unit.matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(([, value = '']) => value);

const own = Object.fromEntries(readValues('Environment').map((pair) => pair.split('=', 2)));
const { NODE_ENV: _, ...withoutProduction } = own;
const { readyDelayMs, shutdownDelayMs, shutdownGraceMs } = readConfig(withoutProduction);

test('the unit sets only variables that the gateway reads, and different ports for each instance', async () => {
  expect(Object.keys(own).filter((name) => !settingNames.includes(name))).toEqual([]);
  const database = { DATABASE_URL: 'postgres://db.example.com/gateway' };
  expect(readConfig({ ...(await filledExample()), ...database, ...own })).toMatchObject({
    production: true,
    port: 4001,
    admin: { host: '127.0.0.1', port: 9461 },
  });
});

test('the stop timeout is longer than the shutdown delay and grace, and 3 seconds to disconnect', () => {
  expect(Number(readValues('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(
    shutdownDelayMs + shutdownGraceMs + 3000,
  );
});

describe('ExecStartPost', () => {
  let database: TestDatabase;
  let issuer: Issuer;
  const running: Process[] = [];
  beforeAll(async () => {
    database = await createTestDatabase();
    issuer = await startIssuer();
  });
  afterAll(async () => {
    await Promise.all(running.map((process) => process.stop('SIGKILL')));
    await issuer.close();
    await database.drop();
  });

  async function settings(): Promise<Record<string, string>> {
    const { AUTH_JWKS: _, ...shared } = settingsFor(database);
    const [port, adminPort] = [await freePort(), await freePort()].map(String);
    return { ...shared, AUTH_JWKS_URL: issuer.url, PORT: `${port}`, ADMIN_PORT: `${adminPort}` };
  }

  /** Runs a command line of a unit as systemd would, with the service's variables. */
  function startCommand(line: string, environment: Record<string, string>): Process {
    const [program = '', ...args] = line.replaceAll(INSTALLED, repository).split(' ');
    const child = spawn(program, args, {
      cwd: repository,
      env: { NODE_COMPILE_CACHE: compileCache, ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.push(captureOutput(child, line));
    return running.at(-1) ?? expect.unreachable();
  }

  const startPost = (environment: Record<string, string>, pid: number, options = '') =>
    startCommand(readValues('ExecStartPost')[0]?.replace('$MAINPID', String(pid)) + options, environment);

  async function startGateway(environment: Record<string, string>): Promise<Process> {
    const gateway = startProcess('src/main.ts', environment);
    running.push(gateway);
    await gateway.waitForOutput(/Listening on/);
    return gateway;
  }

  const success = { status: 0, stdout: '', stderr: '' };
  const hasEnded = ({ pid }: Process) => ({
    status: 1,
    stderr: `The gateway (process ${pid}) ended before it was ready.\n`,
  });

  test('waits for a worker that the documented drop-in file starts', async () => {
    const block = readBlocks(readPage('docs/deployment.md')).find(({ language }) => language === 'ini');
    expect(block?.info).toBe(`/etc/systemd/system/${NAME.replace('@', '@9')}.d/worker.conf`);
    const [, command = ''] = /^ExecStart=(.+)$/m.exec(block?.content ?? '') ?? [];
    const environment = { ...(await settings()), CHAT_TOKEN: 'xoxb-1', DELIVERY: 'false' };
    const worker = startCommand(command, environment);
    const post = startPost(environment, worker.pid);
    await worker.waitForOutput(/Delivers {2}chat/);
    expect(await post.ended).toEqual(success);
    expect((await worker.stop()).status).toBe(0);
  });

  test('fails after its timeout with what is not ready, and exits when the gateway becomes ready', async () => {
    issuer.fail();
    const environment = await settings();
    const gateway = await startGateway(environment);
    const post = startPost(environment, gateway.pid);
    const readyz = `http://127.0.0.1:${environment.ADMIN_PORT}/readyz`;
    expect((await fetch(readyz)).status).toBe(503);
    const { status, stderr } = await startPost(environment, gateway.pid, ' --seconds 1').ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/^Not ready after 1 s: http:.*"key_set":"was never fetched"/);
    expect(await Promise.race([post.ended, fetch(readyz).then(() => 'waits')])).toBe('waits');

    issuer.recover();
    expect(await post.ended).toEqual(success);
    expect((await fetch(readyz)).status).toBe(200);
  });

  test('waits until the gateway has been ready for READY_DELAY_MS', async () => {
    const environment = { ...(await settings()), READY_DELAY_MS: '1000' };
    const gateway = await startGateway(environment);
    const started = Date.now();
    expect(await startPost(environment, gateway.pid).ended).toEqual(success);
    expect(Date.now() - started).toBeGreaterThanOrEqual(1000);
  });

  test('fails if the gateway stops within READY_DELAY_MS, or has exited', async () => {
    const environment = { ...(await settings()), READY_DELAY_MS: '300000' };
    const gateway = await startGateway(environment);
    const post = startPost(environment, gateway.pid);
    await gateway.stop();
    expect(await post.ended).toMatchObject(hasEnded(gateway));

    const failed = startProcess('src/main.ts', { PORT: 'http' });
    expect((await failed.ended).status).toBe(1);
    expect(await startPost(environment, failed.pid).ended).toMatchObject(hasEnded(failed));
  });

  test('requires ADMIN_PORT if processes share a port', async () => {
    const { ADMIN_PORT: _, ...shared } = await settings();
    const { status, stderr } = await startPost({ ...shared, REUSE_PORT: 'true' }, process.pid).ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/Set ADMIN_PORT for each process/);
  });

  test('has a shorter timeout than systemd', async () => {
    const [, seconds] =
      /default: '(\d+)'/.exec(await readRepositoryFile('src/commands/await-ready.ts')) ?? [];
    expect(Number(readValues('TimeoutStartSec')[0])).toBeGreaterThan(Number(seconds) + readyDelayMs / 1000);
  });
});

test('the unit and the image start Node.js with the same options as npm start', async () => {
  const [, start = ''] =
    /"start": "[^"]*\bnode ([^"]+)"/.exec(await readRepositoryFile('package.json')) ?? [];
  const [, image = '[]'] = /^CMD (.+)$/m.exec(await readRepositoryFile('Dockerfile')) ?? [];

  expect(start).toMatch(/src\/main\.ts$/);
  expect(readValues('ExecStart')).toEqual([`${INSTALLED}/node_modules/.bin/node ${start}`]);
  expect(JSON.parse(image)).toEqual(['node', ...start.split(' ')]);
});

/* releases/rolling-restart.test.ts runs the proxies. Here are the values of theirs that must fit those of the unit. */

/** Reads the value after a name; times are in milliseconds. */
async function readValue(file: string, name: string): Promise<number> {
  const [, value = Number.NaN, timeUnit] =
    new RegExp(`^[^#\\n]*\\b${name}[ =](\\d+)(s|ms)?\\b`, 'm').exec(await readRepositoryFile(file)) ?? [];
  return Number(value) * (timeUnit === 's' ? 1000 : 1);
}

describe('SHUTDOWN_DELAY_MS and READY_DELAY_MS of the unit', () => {
  test('are shorter and longer than the time for which nginx sends nothing to a failed gateway', async () => {
    const failTimeout = await readValue('ops/nginx.conf', 'fail_timeout');
    expect(failTimeout).toBeGreaterThan(shutdownDelayMs);
    // nginx counts whole seconds.
    expect(readyDelayMs).toBeGreaterThan(failTimeout + 1000);
  });

  test('are longer than HAProxy needs to notice that a gateway is stopping or ready', async () => {
    const read = (name: string) => readValue('ops/haproxy.cfg', name);
    const [interval, next, timeout] = [
      await read('inter'),
      await read('fastinter'),
      await read('timeout check'),
    ];
    // A check that began before the signal may still pass.
    expect(shutdownDelayMs).toBeGreaterThan(timeout + interval + ((await read('fall')) - 1) * next);
    const rise = await read('rise');
    expect(readyDelayMs).toBeGreaterThan(interval + (rise - 1) * next + rise * timeout);
  });

  test('are longer than Caddy needs to notice it, as are those in compose.yaml', async () => {
    const [interval, timeout] = [
      await readValue('ops/Caddyfile', 'health_interval'),
      await readValue('ops/Caddyfile', 'health_timeout'),
    ];
    const Compose = z.object({
      'x-gateway': z.object({
        environment: z.object({ SHUTDOWN_DELAY_MS: z.string(), READY_DELAY_MS: z.string() }),
      }),
    });
    const compose = Compose.parse(parse(await readRepositoryFile('compose.yaml')));
    const { SHUTDOWN_DELAY_MS, READY_DELAY_MS } = compose['x-gateway'].environment;
    for (const delay of [shutdownDelayMs, readyDelayMs, Number(SHUTDOWN_DELAY_MS), Number(READY_DELAY_MS)]) {
      expect(delay).toBeGreaterThan(interval + timeout);
    }
  });
});

test('nginx and Caddy close idle connections before the gateway does, also before one that is stopping', async () => {
  expect(shutdownDelayMs).toBeLessThan(timeouts.keepAliveTimeout);
  expect(await readValue('ops/nginx.conf', 'keepalive_timeout')).toBeLessThan(shutdownDelayMs);
  expect(await readValue('ops/Caddyfile', 'keepalive')).toBeLessThan(shutdownDelayMs);
});

test('all proxies serve HTTP/2 with TLS, which browsers need for more than six live streams', async () => {
  expect(await readRepositoryFile('ops/nginx.conf')).toMatch(/^ *# listen 443 ssl http2;$/m);
  expect(await readRepositoryFile('ops/haproxy.cfg')).toMatch(/^ *# bind :443 ssl .* alpn h2,http\/1\.1$/m);
  // Caddy does unless its protocols are restricted.
  expect(await readRepositoryFile('ops/Caddyfile')).not.toMatch(/\bprotocols\b/);
});
