import { isLoopback, LOOPBACK, readHost } from './hosts.ts';

const DEFAULT_PORT = '4000';

/** Lists the missing settings that production requires. */
export function findMissing(given: Record<string, string | undefined>): string[] {
  if (given.NODE_ENV !== 'production') return [];
  const needed = {
    DATABASE_URL: 'URL of PostgreSQL 14 or later',
    AUTH_ISSUER: '"iss" claim of tokens',
    AUTH_AUDIENCE: '"aud" claim of tokens',
    ENCRYPTION_KEYS: 'keys that encrypt credentials and push subscriptions, as id:base64 of 32 bytes',
  };
  const issues = Object.entries(needed)
    .filter(([name]) => given[name] === undefined)
    .map(([name, description]) => `${name}: is required with NODE_ENV=production (${description})`);
  if (given.AUTH_JWKS_URL === undefined && given.AUTH_JWKS === undefined) {
    issues.push(
      'AUTH_JWKS_URL: is required with NODE_ENV=production unless AUTH_JWKS is set (key set that verifies tokens)',
    );
  }
  return issues;
}

/** Describes settings that are optional but probably forgotten. */
export function findOmissions(given: Record<string, string | undefined>): string[] {
  if (given.SMTP_URL === undefined || given.PUBLIC_URL !== undefined) return [];
  return ['PUBLIC_URL: is not set, so emails contain no link to unsubscribe'];
}

/** Describes settings that are valid separately but not together. */
export function findConflicts(given: Record<string, string | undefined>): string[] {
  return [...findKeySetConflict(given), ...findAdminConflict(given), ...findDeliveryConflicts(given)];
}

function findKeySetConflict(given: Record<string, string | undefined>): string[] {
  const { NODE_ENV, HOST = LOOPBACK, AUTH_JWKS_URL, AUTH_JWKS } = given;
  if (AUTH_JWKS_URL !== undefined && AUTH_JWKS !== undefined) {
    return ['AUTH_JWKS: cannot be combined with AUTH_JWKS_URL; unset one of them'];
  }
  const isDevelopmentKey = AUTH_JWKS_URL === undefined && AUTH_JWKS === undefined;
  if (!isDevelopmentKey || NODE_ENV === 'production' || isLoopback(HOST)) return [];
  return [
    `HOST: "${HOST}" accepts connections from other machines, which requires AUTH_JWKS_URL or AUTH_JWKS instead of the development key; set one of them, or set HOST to ${LOOPBACK}`,
  ];
}

function findAdminConflict(given: Record<string, string | undefined>): string[] {
  const { HOST = LOOPBACK, PORT = DEFAULT_PORT, ADMIN_HOST = LOOPBACK, ADMIN_PORT } = given;
  if (ADMIN_PORT === undefined) {
    return ADMIN_HOST === LOOPBACK ? [] : ['ADMIN_PORT: is required with ADMIN_HOST'];
  }
  const isSame = ADMIN_PORT !== '0' && ADMIN_PORT === PORT && ADMIN_HOST === HOST;
  return isSame ? ['ADMIN_PORT: must differ from PORT'] : [];
}

function findDeliveryConflicts(given: Record<string, string | undefined>): string[] {
  const pairs = [
    ['SMTP_URL', 'SMTP_FROM'],
    ['VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'],
  ] as const;
  const incomplete = pairs.flatMap(([first, second]) => {
    if ((given[first] === undefined) === (given[second] === undefined)) return [];
    const [missing, other] = given[first] === undefined ? [first, second] : [second, first];
    return [`${missing}: is required with ${other}`];
  });
  const { CHAT_API_URL } = given;
  const api = CHAT_API_URL === undefined ? null : URL.parse(CHAT_API_URL);
  if (api?.protocol === 'http:' && !isLoopback(readHost(api))) {
    incomplete.push('CHAT_API_URL: must be an https URL, because the token is sent to it');
  }
  return incomplete;
}
