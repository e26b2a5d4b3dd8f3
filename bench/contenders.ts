import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Bench } from './bench.ts';
import { startGateway } from './gateway-process.ts';
import { type ServerProcess, startServerProcess } from './server-process.ts';
import { listOptionsWithout, type Piece } from './without/pieces.ts';

/** The gateway and its peers, which are implemented in `peers/`. */
export const contenders = [
  'gateway',
  'no-announcements',
  'deliveries',
  'dismissals',
  'mercurius',
  'apollo',
  'fastify',
  'node-http',
] as const;
export type Contender = (typeof contenders)[number];

/** The titles of contenders in results. */
export const contenderTitles: Readonly<Record<Contender, string>> = {
  gateway: 'gateway',
  'no-announcements': 'gateway without announcements',
  deliveries: 'gateway that queues deliveries',
  dismissals: 'gateway, dismissing instead',
  mercurius: 'Fastify + mercurius, JIT + pg',
  apollo: 'Apollo Server + Express + pg',
  fastify: 'Fastify + pg, response schema',
  'node-http': 'node:http + pg, no GraphQL',
};

/** The gateway's default, for all contenders. */
const POOL_SIZE = 10;
/** Requests per minute that no user reaches, so that the limiter counts but never rejects. */
const HIGH_LIMIT = '100000000';
/** The key ID of the credentials in the data set. */
export const ENCRYPTION_KEY_ID = 'bench';

/** The database and token issuer of a server. */
export type Backend = Pick<Bench, 'databaseUrl' | 'issuer'>;

/** Creates the settings of every contender. */
function createSettings({ databaseUrl, issuer }: Backend): Record<string, string> {
  return {
    ...issuer.environment,
    NODE_ENV: 'production',
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: String(POOL_SIZE),
    ENCRYPTION_KEYS: `${ENCRYPTION_KEY_ID}:${randomBytes(32).toString('base64')}`,
  };
}

/** Creates the gateway's settings: the defaults, except limits that are never reached and no retention. */
export function createGatewaySettings(backend: Backend): Record<string, string> {
  return {
    ...createSettings(backend),
    RATE_LIMIT_READS_PER_MINUTE: HIGH_LIMIT,
    RATE_LIMIT_WRITES_PER_MINUTE: HIGH_LIMIT,
    MAX_SUBSCRIBERS: '10000',
    // Slots, expiry and platform events are enabled.
    // The fixed timestamps of the data set will exceed any retention.
    NOTIFICATION_RETENTION_DAYS: '0',
  };
}

/** Creates settings with a provider of every channel, of a gateway that queues deliveries but does not send them. */
function createProviderSettings(): Record<string, string> {
  return {
    DELIVERY: 'false',
    SMTP_URL: 'smtp://127.0.0.1',
    SMTP_FROM: 'gateway@example.com',
    VAPID_PRIVATE_KEY: randomBytes(32).toString('base64url'),
    VAPID_SUBJECT: 'mailto:operator@example.com',
    CHAT_TOKEN: 'bench',
  };
}

/** Starts the gateway without a piece. */
export function startGatewayWithout(piece: Piece, backend: Backend): Promise<ServerProcess> {
  return startGateway(createGatewaySettings(backend), listOptionsWithout(piece));
}

/** Starts a contender. `nodeOptions` apply to the gateway. */
export async function startContender(
  name: Contender,
  backend: Backend,
  nodeOptions: readonly string[] = [],
): Promise<ServerProcess> {
  if (name === 'gateway' || name === 'dismissals')
    return startGateway(createGatewaySettings(backend), nodeOptions);
  if (name === 'no-announcements') {
    return startGatewayWithout('announcements', backend);
  }
  if (name === 'deliveries') {
    return startGateway({ ...createGatewaySettings(backend), ...createProviderSettings() }, nodeOptions);
  }
  return startServerProcess({
    command: process.execPath,
    args: [fileURLToPath(new URL(`peers/${name}.ts`, import.meta.url))],
    environment: () => createSettings(backend),
  });
}
