import { isIP } from 'node:net';

/** The host that is listened on by default. */
export const LOOPBACK = '127.0.0.1';

const DEFAULT_PORT = '4000';

/** Names the settings that production requires and that are not set. */
export function findMissing(given: Record<string, string | undefined>): string[] {
  if (given.NODE_ENV !== 'production') return [];
  const needed = {
    DATABASE_URL: 'the address of PostgreSQL 14 or later',
    AUTH_ISSUER: 'the "iss" that tokens carry',
    AUTH_AUDIENCE: 'the "aud" that tokens carry',
    ENCRYPTION_KEYS: 'the keys that editor credentials are encrypted with (id:base64 of 32 bytes)',
  };
  const issues = Object.entries(needed)
    .filter(([name]) => given[name] === undefined)
    .map(([name, what]) => `${name}: is required with NODE_ENV=production: ${what}`);
  if (given.AUTH_JWKS_URL === undefined && given.AUTH_JWKS === undefined) {
    issues.push(
      'AUTH_JWKS_URL: is required with NODE_ENV=production (or AUTH_JWKS): the key set that tokens are verified against',
    );
  }
  return issues;
}

/** Describes settings that are valid each for itself, and wrong together. */
export function findConflicts(given: Record<string, string | undefined>): string[] {
  return [...findKeySetConflict(given), ...findAdminConflict(given)];
}

function findKeySetConflict(given: Record<string, string | undefined>): string[] {
  const { NODE_ENV, HOST = LOOPBACK, AUTH_JWKS_URL, AUTH_JWKS } = given;
  if (AUTH_JWKS_URL !== undefined && AUTH_JWKS !== undefined) {
    return ['AUTH_JWKS: set it or AUTH_JWKS_URL, not both'];
  }
  const isDevelopmentKey = AUTH_JWKS_URL === undefined && AUTH_JWKS === undefined;
  if (!isDevelopmentKey || NODE_ENV === 'production' || isLoopback(HOST)) return [];
  return [
    `HOST: "${HOST}" can be reached from other machines, and tokens would be signed by the development key: set AUTH_JWKS_URL or AUTH_JWKS, or leave HOST at ${LOOPBACK}`,
  ];
}

function findAdminConflict(given: Record<string, string | undefined>): string[] {
  const { HOST = LOOPBACK, PORT = DEFAULT_PORT, ADMIN_HOST = LOOPBACK, ADMIN_PORT } = given;
  if (ADMIN_PORT === undefined) {
    return ADMIN_HOST === LOOPBACK ? [] : ['ADMIN_PORT: is required with ADMIN_HOST'];
  }
  const isSame = ADMIN_PORT !== '0' && ADMIN_PORT === PORT && ADMIN_HOST === HOST;
  return isSame ? ['ADMIN_PORT: must be another port than PORT'] : [];
}

/** Whether only this machine can reach a host. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
