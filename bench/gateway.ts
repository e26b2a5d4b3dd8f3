import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { REPOSITORY, type Server, startServer } from './server.ts';

/** A version of the gateway, with its folder and its database. */
export type Checkout = { title: string; folder: string; databaseUrl: string };

/** The same key for all, so that they can share a database. */
const ENCRYPTION_KEYS = `bench:${randomBytes(32).toString('base64')}`;

/** Creates the settings of the gateway and its peers. */
export const createSettings = (databaseUrl: string, issuer: Issuer): Record<string, string> => ({
  ...issuer.environment,
  NODE_ENV: 'production',
  DATABASE_URL: databaseUrl,
  DATABASE_POOL_SIZE: '10',
  ENCRYPTION_KEYS,
});

/** Starts a gateway as `npm start` does, with limits that count but are never reached. */
export async function startGateway(
  { folder, databaseUrl }: Checkout,
  issuer: Issuer,
  settings: Record<string, string> = {},
): Promise<Server> {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
  return startServer({
    args: ['src/main.ts'],
    cwd: folder,
    environment: {
      ...createSettings(databaseUrl, issuer),
      NODE_COMPILE_CACHE: join(folder, 'node_modules/.cache/gateway'),
      RATE_LIMIT_READS_PER_MINUTE: '100000000',
      RATE_LIMIT_WRITES_PER_MINUTE: '100000000',
      MAX_SUBSCRIBERS: '10000',
      NOTIFICATION_RETENTION_DAYS: '0',
      // Without it, this version does without some features.
      ...(version === '0.3.0' && { OLDEST_GATEWAY_VERSION: version }),
      ...settings,
    },
  });
}

/** Starts a peer, which is a program of `peers/`. */
export function startPeer(name: string, databaseUrl: string, issuer: Issuer): Promise<Server> {
  return startServer({
    args: [join(REPOSITORY, 'bench/peers', `${name}.ts`)],
    environment: createSettings(databaseUrl, issuer),
  });
}

/** An issuer of tokens. */
export type Issuer = Awaited<ReturnType<typeof createIssuer>>;

type Claims = { sub: string; org_id?: string; scope?: string };

/** Creates an issuer with a new key. */
export async function createIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'EdDSA', use: 'sig' };
  const iss = 'https://issuer.bench';
  const aud = 'account-gateway';
  return {
    /** The gateway's settings to verify its tokens. */
    environment: { AUTH_JWKS: JSON.stringify({ keys: [jwk] }), AUTH_ISSUER: iss, AUTH_AUDIENCE: aud },
    /** Signs a token that is valid for eight hours. */
    sign: (claims: Claims) =>
      new SignJWT({ iss, aud, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', kid: 'bench' })
        .setIssuedAt()
        .setExpirationTime('8h')
        .sign(privateKey),
  };
}
