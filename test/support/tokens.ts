import { CompactSign, exportJWK, generateKeyPair, SignJWT } from 'jose';

export const ISSUER = 'https://issuer.test';
export const AUDIENCE = 'account-gateway';
/** The claims of task tokens that test gateways read. */
export const TASK_CLAIMS = { user: 'task_user', task: 'task_id' };

const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519' });

/** The key set that test gateways verify tokens against. */
export const jwks = { keys: [{ ...(await exportJWK(publicKey)), kid: 'test', alg: 'EdDSA', use: 'sig' }] };

/** Signs a token like the platform's issuer. A claim that is `null` is omitted. */
export async function signToken(
  claims: Record<string, unknown> & { sub: string },
  options: { key?: CryptoKey; header?: Record<string, unknown> } = {},
): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const all = { iss: ISSUER, aud: AUDIENCE, iat: now, exp: now + 3600, ...claims };
  const kept = Object.fromEntries(Object.entries(all).filter(([, value]) => value !== null));
  return new SignJWT(kept)
    .setProtectedHeader({ alg: 'EdDSA', kid: 'test', ...options.header })
    .sign(options.key ?? privateKey);
}

/** Signs any payload, for claims and headers that no issuer would create. */
export async function signText(text: string, header: Record<string, unknown> = {}): Promise<string> {
  return new CompactSign(new TextEncoder().encode(text))
    .setProtectedHeader({ alg: 'EdDSA', kid: 'test', ...header })
    .sign(privateKey, { crit: Object.fromEntries(Object.keys(header).map((name) => [name, true])) });
}

/** Signs a header and claims that are given as JSON text, for JSON that no library would create. */
export async function signParts(header: string, claims: string): Promise<string> {
  const input = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.');
  const signature = await crypto.subtle.sign('Ed25519', privateKey, Buffer.from(input));
  return `${input}.${Buffer.from(signature).toString('base64url')}`;
}

/** Signs a task token. */
export const signTaskToken = (userId: string, taskId: string, claims: Record<string, unknown> = {}) =>
  signToken({
    sub: 'task-runner',
    scope: 'platform:task',
    [TASK_CLAIMS.user]: userId,
    [TASK_CLAIMS.task]: taskId,
    ...claims,
  });

/** The tokens of members and services, by their claims. */
const reused = new Map<string, Promise<string>>();
const REUSED_FOR_MS = 10 * 60_000;

/** Signs a token, or returns the one that was signed for the same claims in the same ten minutes. */
function reuseToken(claims: { sub: string; org_id?: string; scope?: string }): Promise<string> {
  const key = JSON.stringify([Math.floor(Date.now() / REUSED_FOR_MS), claims]);
  const token = reused.get(key) ?? signToken(claims);
  reused.set(key, token);
  return token;
}

/** Returns a token of a member of an organization, without a scope claim: it grants the full account. */
export const member = (sub: string) => reuseToken({ sub, org_id: 'acme' });

/** Returns a token of a platform service, by default with all platform scopes. */
export const platform = (scope = 'platform:write platform:read platform:credentials') =>
  reuseToken({ sub: 'platform-service', scope });
