import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Bench } from './bench.ts';
import { startGateway } from './gateway-process.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';

/** The gateway and those that it is held against; how each is made stands in `peers/`. */
export const contenders = ['gateway', 'quiet', 'mercurius', 'apollo', 'fastify', 'node-http'] as const;
export type Contender = (typeof contenders)[number];

/** What they are called in the results. */
export const contenderTitles: Readonly<Record<Contender, string>> = {
  gateway: 'gateway',
  quiet: 'gateway that announces nothing',
  mercurius: 'Fastify + mercurius, JIT + pg',
  apollo: 'Apollo Server + Express + pg',
  fastify: 'Fastify + pg, response schema',
  'node-http': 'node:http + pg, no GraphQL',
};

/** Connections to PostgreSQL of every contender: the gateway's default. */
const POOL_SIZE = 10;
/** No user reaches this many requests a minute; the limiter counts them all the same. */
const HIGH_LIMIT = '100000000';
/** The name of the key that the data set's credentials are said to be encrypted with. */
export const ENCRYPTION_KEY_ID = 'bench';

/** Where a server finds its records and keys. */
export type Place = Pick<Bench, 'databaseUrl' | 'issuer'>;

/** What every contender is told. */
function settingsOf({ databaseUrl, issuer }: Place): Record<string, string> {
  return {
    ...issuer.environment,
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    ENCRYPTION_KEYS: `${ENCRYPTION_KEY_ID}:${randomBytes(32).toString('base64')}`,
  };
}

/** The gateway's settings: as they are by default, but for limits too high to be met and no retention. */
export function gatewaySettings(place: Place): Record<string, string> {
  return {
    ...settingsOf(place),
    RATE_LIMIT_READS_PER_MINUTE: HIGH_LIMIT,
    RATE_LIMIT_WRITES_PER_MINUTE: HIGH_LIMIT,
    MAX_SUBSCRIBERS: '10000',
    // The data set's times are fixed, and would be past it one day.
    NOTIFICATION_RETENTION_DAYS: '0',
  };
}

/** Starts a contender; the gateway with these options of Node.js. */
export async function startContender(
  name: Contender,
  place: Place,
  nodeOptions: readonly string[] = [],
): Promise<ServerProcess> {
  if (name === 'gateway') return startGateway(gatewaySettings(place), nodeOptions);
  if (name === 'quiet') {
    return startGateway(gatewaySettings(place), [
      '--import',
      new URL('peers/quiet.ts', import.meta.url).href,
    ]);
  }
  return startServerProcess({
    command: process.execPath,
    args: [fileURLToPath(new URL(`peers/${name}.ts`, import.meta.url))],
    environment: () => settingsOf(place),
  });
}
