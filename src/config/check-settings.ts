import { closestMatch } from 'leven';
import { DEFAULT_PORT, LOOPBACK } from './environment.ts';
import { isLoopback, readHost } from './formats.ts';

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
  const { SMTP_URL, PUBLIC_URL, ANSWER_LINKS, AUTH_SCOPE_PREFIX = '' } = given;
  const omissions: string[] = [];
  if (SMTP_URL !== undefined && PUBLIC_URL === undefined) {
    omissions.push('PUBLIC_URL: is not set, so emails contain no link to unsubscribe');
  }
  if (ANSWER_LINKS === 'all') {
    omissions.push(
      'ANSWER_LINKS: is all, so anyone who has an email about a plan or a permission request can approve it; with questions, such emails have no link',
    );
  }
  if (/[a-z\d]$/i.test(AUTH_SCOPE_PREFIX)) {
    omissions.push(
      `AUTH_SCOPE_PREFIX: ends without a separator, so a scope is ${AUTH_SCOPE_PREFIX}account:read; did you mean ${AUTH_SCOPE_PREFIX}/?`,
    );
  }
  return omissions;
}

/** Describes settings that are valid separately but not together. */
export function findConflicts(given: Record<string, string | undefined>): string[] {
  return [
    ...findKeySetConflict(given),
    ...findScopeConflict(given),
    ...findTaskConflict(given),
    ...findAdminConflict(given),
    ...findDeliveryConflicts(given),
    ...findIncompletePairs(given),
  ];
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

function findScopeConflict(given: Record<string, string | undefined>): string[] {
  const { AUTH_SCOPE_PREFIX, AUTH_SIGN_IN_SCOPES = '' } = given;
  if (AUTH_SCOPE_PREFIX === undefined) return [];
  const isPrefixed = AUTH_SIGN_IN_SCOPES.split(' ').some((scope) => scope.startsWith(AUTH_SCOPE_PREFIX));
  return isPrefixed ? ['AUTH_SIGN_IN_SCOPES: must name scopes without AUTH_SCOPE_PREFIX'] : [];
}

function findTaskConflict({ AUTH_TASK_USER_CLAIM, AUTH_TASK_CLAIM }: Record<string, string | undefined>) {
  const isSame = AUTH_TASK_CLAIM !== undefined && AUTH_TASK_CLAIM === AUTH_TASK_USER_CLAIM;
  return isSame ? ['AUTH_TASK_CLAIM: must differ from AUTH_TASK_USER_CLAIM'] : [];
}

function findAdminConflict(given: Record<string, string | undefined>): string[] {
  const { HOST = LOOPBACK, PORT = String(DEFAULT_PORT), ADMIN_HOST = LOOPBACK, ADMIN_PORT } = given;
  if (ADMIN_PORT === undefined) {
    return ADMIN_HOST === LOOPBACK ? [] : ['ADMIN_PORT: is required with ADMIN_HOST'];
  }
  const hosts = [ADMIN_HOST, HOST];
  const overlap = ADMIN_HOST === HOST || hosts.includes('0.0.0.0') || hosts.includes('::');
  const isSame = Number(ADMIN_PORT) !== 0 && Number(ADMIN_PORT) === Number(PORT) && overlap;
  return isSame ? ['ADMIN_PORT: must differ from PORT'] : [];
}

function findDeliveryConflicts(given: Record<string, string | undefined>): string[] {
  const { CHAT_API_URL, ANSWER_LINKS = 'off', PUBLIC_URL, CHAT_SIGNING_SECRET, CHAT_TOKEN } = given;
  const api = CHAT_API_URL === undefined ? null : URL.parse(CHAT_API_URL);
  const isOpen = api?.protocol === 'http:' && !isLoopback(readHost(api));
  return [
    ...(ANSWER_LINKS !== 'off' && !PUBLIC_URL ? ['PUBLIC_URL: is required with ANSWER_LINKS'] : []),
    ...(CHAT_SIGNING_SECRET && !CHAT_TOKEN ? ['CHAT_TOKEN: is required with CHAT_SIGNING_SECRET'] : []),
    ...(isOpen ? ['CHAT_API_URL: must be an https URL, because the token is sent to it'] : []),
  ];
}

/** Settings of which each requires the other. */
const pairs = [
  ['AUTH_TASK_USER_CLAIM', 'AUTH_TASK_CLAIM'],
  ['SMTP_URL', 'SMTP_FROM'],
  ['VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'],
] as const;

function findIncompletePairs(given: Record<string, string | undefined>): string[] {
  return pairs.flatMap(([first, second]) => {
    if ((given[first] === undefined) === (given[second] === undefined)) return [];
    const [missing, other] = given[first] === undefined ? [first, second] : [second, first];
    return [`${missing}: is required with ${other}`];
  });
}

/** Shorter names are too similar to unrelated variables, such as `HOST` and `HOME`. */
const MIN_LENGTH = 8;

const MAX_EDITS = 2;

/** Describes variables that are probably misspelled settings, even if the setting is set as well. */
export function findMisspellings(given: readonly string[], settings: readonly string[]): string[] {
  const long = settings.filter((name) => name.length >= MIN_LENGTH);
  return given
    .filter((name) => !settings.includes(name))
    .flatMap((name) => {
      const meant = closestMatch(name.toUpperCase(), long, { maxDistance: MAX_EDITS });
      if (meant === undefined) return [];
      const also = given.includes(meant) ? ', which is set too' : '';
      return [`${name}: is not a setting and is ignored; did you mean ${meant}${also}?`];
    });
}
