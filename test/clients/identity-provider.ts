import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { startServer } from '../support/servers.ts';

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>;

/** Starts an identity provider with the device authorization grant (RFC 8628) and refresh tokens that are valid once. */
export async function startIdentityProvider(claims: Record<string, unknown>) {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'current', alg: 'ES256', use: 'sig' }];
  const devices = new Map<string, { userCode: string; isApproved: boolean }>();
  const refreshTokens = new Set<string>();
  const nextErrors: string[] = [];
  let lifetime = 3600;

  async function issue() {
    const now = Math.floor(Date.now() / 1000);
    const token = new SignJWT({ ...provider.claims, iss: provider.url, iat: now, exp: now + lifetime });
    const access_token = await token.setProtectedHeader({ alg: 'ES256', kid: 'current' }).sign(privateKey);
    const refresh_token = randomUUID();
    refreshTokens.add(refresh_token);
    return { access_token, refresh_token, token_type: 'Bearer', expires_in: lifetime };
  }

  function authorize(parameters: URLSearchParams) {
    provider.grants.push(`sign-in: ${parameters.get('scope')}`);
    const device_code = randomUUID();
    const userCode = device_code.slice(0, 8).toUpperCase();
    devices.set(device_code, { userCode, isApproved: false });
    const verification_uri = `${provider.url}/device`;
    return { device_code, user_code: userCode, verification_uri, expires_in: 600, interval: 0.05 };
  }

  function grant(parameters: URLSearchParams) {
    const name = parameters.get('grant_type') ?? '';
    if (name === DEVICE_GRANT) {
      const code = parameters.get('device_code') ?? '';
      const error = nextErrors.shift();
      if (error !== undefined) return { error };
      if (devices.get(code)?.isApproved !== true) return { error: 'authorization_pending' };
      devices.delete(code);
    } else if (!refreshTokens.delete(parameters.get('refresh_token') ?? ''))
      return { error: 'invalid_grant' };
    provider.grants.push(name);
    return issue();
  }

  const routes: Record<string, (parameters: URLSearchParams) => object | Promise<object>> = {
    '/.well-known/openid-configuration': () => ({
      issuer: provider.url,
      device_authorization_endpoint: `${provider.url}/device_authorization`,
      token_endpoint: `${provider.url}/token`,
    }),
    '/jwks': () => ({ keys }),
    '/device_authorization': authorize,
    '/token': grant,
  };
  const server = createServer(async (request, response) => {
    const parameters = new URLSearchParams(await text(request));
    const content = await routes[request.url ?? '']?.(parameters);
    response.writeHead(content === undefined || 'error' in content ? 400 : 200, {
      'Content-Type': 'application/json',
    });
    response.end(JSON.stringify(content));
  });
  const { url, close } = await startServer(server);
  const provider = {
    url,
    /** The claims of tokens that are issued from now on, without `iss` and the timestamps. */
    claims,
    /** The grants for which tokens were requested, with the scopes of sign-ins. */
    grants: [] as string[],
    /** Replies to the next request for the tokens of a device with an error, such as `slow_down`. */
    replyOnce: (error: string) => void nextErrors.push(error),
    /** Completes the sign-in with a user code. */
    approve(userCode: string) {
      const device = [...devices.values()].find((one) => one.userCode === userCode);
      if (device === undefined) throw new Error(`No device has the code ${userCode}.`);
      device.isApproved = true;
    },
    /** Access tokens that are issued from now on are valid for this time, in seconds. */
    setLifetime(seconds: number) {
      lifetime = seconds;
    },
    /** Ends the session: refresh tokens are refused. */
    revoke: () => refreshTokens.clear(),
    close,
  };
  return provider;
}
