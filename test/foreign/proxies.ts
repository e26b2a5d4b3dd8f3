import { spawn, spawnSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isRoot } from '../../dev/postgres/account.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { captureOutput, type Process } from '../support/process.ts';
import { freePort } from '../support/servers.ts';

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

/**
 * Starts a proxy with a copy of its configuration that differs in addresses only, and waits until it forwards. With the
 * paths of a certificate and its key, both in PEM, it has TLS as its comments describe.
 */
export async function startProxy(
  { program, file, run }: ProxyProgram,
  folder: string,
  gateways: readonly number[],
  tls?: CertificateFiles,
): Promise<RunningProxy> {
  const address = `127.0.0.1:${await freePort()}`;
  const upstreams = gateways.map((port) => `127.0.0.1:${port}`);
  const plain = await readRepositoryFile(file);
  const text = (tls === undefined ? plain : enableTls(plain, tls))
    .replace(/^( *(?:listen|bind)) :?(?:80|443)\b/m, `$1 ${address}`)
    .replaceAll(/127\.0\.0\.1:400(\d)/g, (_all, instance) => upstreams[instance - 1] ?? '');
  const scheme = tls === undefined ? 'http' : 'https';
  const path = join(folder, `${basename(file)}.${scheme}`);
  await writeFile(path, text);
  const child = spawn(program, run(path), {
    // The last three are for Caddy.
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      SITE: `${scheme}://${address}`,
      GATEWAYS: upstreams.join(' '),
      CADDY_ADMIN: `127.0.0.1:${await freePort()}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const proxy = captureOutput(child, program);
  const url = `${scheme}://${address}`;
  const forwards = eventually(async () => {
    const { status } = await fetch(`${url}/healthz`);
    if (status !== 200) throw new Error(`${program} replied with ${status}`);
  });
  const failed = proxy.ended.then(({ stderr }) => Promise.reject(new Error(`${program}: ${stderr}`)));
  await Promise.race([forwards, failed]);
  return { name: program, address: url, stop: proxy.stop };
}

/** A certificate with its key, both in one file for HAProxy. */
type CertificateFiles = { cert: string; key: string; both: string };

/** Replaces the line without TLS by those in the comment that follows it. Caddy needs only a certificate. */
function enableTls(text: string, { cert, key, both }: CertificateFiles): string {
  return text
    .replace(/^ *(?:listen|bind) :?80;?\n *# With TLS.*\n((?: *# .*\n)+)/m, (_all, lines: string) =>
      lines.replaceAll('# ', ''),
    )
    .replace(/\/etc\/nginx\/\S+\.crt/, cert)
    .replace(/\/etc\/nginx\/\S+\.key/, key)
    .replace(/\/etc\/haproxy\/\S+\.pem/, both)
    .replace(/^\{\$SITE.*\{$/m, `$&\n\ttls ${cert} ${key}`);
}
