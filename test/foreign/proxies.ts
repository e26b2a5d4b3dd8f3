import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isRoot } from '../../dev/postgres/account.ts';
import { eventually } from '../support/eventually.ts';
import { captureOutput, type Process } from '../support/process.ts';
import { freePort } from '../support/redis.ts';
import { readRepositoryFile } from '../support/settings-file.ts';

/** A proxy, its configuration in the repository, and the options that check it and run with it. */
type ProxyProgram = {
  program: string;
  file: string;
  check(path: string): string[];
  run(path: string): string[];
};

/** The proxies that docs/deployment.md configures. */
export const proxyPrograms: readonly ProxyProgram[] = [
  {
    program: 'nginx',
    file: 'ops/nginx.conf',
    check: (path) => ['-t', '-q', '-e', 'stderr', '-c', path],
    run: (path) => ['-e', 'stderr', '-c', path, '-g', `daemon off; pid ${path}.pid;`],
  },
  {
    program: 'haproxy',
    file: 'ops/haproxy.cfg',
    check: (path) => ['-c', '-q', '-f', path],
    run: (path) => ['-db', '-f', path],
  },
  {
    program: 'caddy',
    file: 'ops/Caddyfile',
    check: (path) => ['validate', '--config', path],
    run: (path) => ['run', '--config', path],
  },
];

/** Whether all proxies are installed, and can run as the accounts of their configurations. */
export const hasProxies =
  isRoot() && proxyPrograms.every(({ program }) => spawnSync('which', [program]).status === 0);

/** A running proxy. */
export type RunningProxy = { name: string; address: string; stop: Process['stop'] };

/** Starts a proxy with a copy of its configuration that differs in addresses only, and waits until it forwards. */
export async function startProxy(
  { program, file, run }: ProxyProgram,
  folder: string,
  gateways: readonly number[],
): Promise<RunningProxy> {
  const address = `127.0.0.1:${await freePort()}`;
  const upstreams = gateways.map((port) => `127.0.0.1:${port}`);
  const text = (await readRepositoryFile(file))
    .replace(/^( *(?:listen|bind)) :?80\b/m, `$1 ${address}`)
    .replaceAll(/127\.0\.0\.1:400(\d)/g, (_all, instance) => upstreams[instance - 1] ?? '');
  const path = join(folder, basename(file));
  await writeFile(path, text);
  const child = spawn(program, run(path), {
    // The last three are for Caddy.
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SITE: `http://${address}`,
      GATEWAYS: upstreams.join(' '),
      CADDY_ADMIN: `127.0.0.1:${await freePort()}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const proxy = captureOutput(child, program);
  const url = `http://${address}`;
  const forwards = eventually(async () => {
    const { status } = await fetch(`${url}/healthz`);
    if (status !== 200) throw new Error(`${program} replied with ${status}`);
  });
  const failed = proxy.ended.then(({ stderr }) => Promise.reject(new Error(`${program}: ${stderr}`)));
  await Promise.race([forwards, failed]);
  return { name: program, address: url, stop: proxy.stop };
}
