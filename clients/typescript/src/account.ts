/** Claims by which issuers name organizations. `AUTH_ORG_CLAIM` of the gateway is `org_id` by default. */
const ORGANIZATION_CLAIMS = [
  'org_id',
  'org',
  'organization',
  'organization_id',
  'tenant',
  'tenant_id',
  'tid',
];

/** Claims that list what a token permits. */
const SCOPE_CLAIMS = ['scope', 'scp', 'scopes'];

/**
 * Names the account of a JWT: its issuer, user, organization and scopes, so that a name stands for one view of one
 * user's data. A token that is not a JWT stands for itself.
 */
export function identifyJwt(token: string): string {
  const claims = readClaims(token);
  if (claims === undefined) return token;
  const values = [...['iss', 'sub', ...ORGANIZATION_CLAIMS].map((name) => claims[name] ?? null)];
  return JSON.stringify([...values, SCOPE_CLAIMS.flatMap((name) => listScopes(claims[name])).sort()]);
}

function listScopes(claim: unknown): string[] {
  return Array.isArray(claim) ? claim.map(String) : typeof claim === 'string' ? claim.split(' ') : [];
}

function readClaims(token: string): { readonly [claim: string]: unknown } | undefined {
  try {
    const base64 = (token.split('.')[1] ?? '').replace(/-/g, '+').replace(/_/g, '/');
    const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === 'object' && claims !== null ? { ...claims } : undefined;
  } catch {
    return undefined;
  }
}
