import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { printLine, runCommand, UsageError, warnOfNewKey } from '../src/commands/run-command.ts';
import { readSigningKey } from '../src/config/development-keys.ts';
import { readConfig } from '../src/config.ts';
import { listen } from '../src/server/listen.ts';

const HOST = '127.0.0.1';
const RESOURCE = 'urn:workspace-account';

const options = {
  port: { type: 'string', default: '4001' },
  org: { type: 'string', default: 'acme' },
} as const;

/**
 * Serves an identity provider for development, with the device authorization grant (RFC 8628). Everybody signs in with any
 * name, as a member of an organization. Tokens are signed with the development key, so a gateway without settings accepts them.
 */
runCommand('npm run dev:sign-in -- [--port 4001] [--org acme]', { options }, async ({ values }) => {
  const { port, org } = values;
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)
    throw new UsageError('--port must be a whole number from 0 to 65535.');
  const { dataDir, orgClaim, audience } = readConfig();
  const key = { ...(await readSigningKey(dataDir, warnOfNewKey)), alg: 'EdDSA', use: 'sig' };
  const server = createServer();
  const issuer = await listen(server, { host: HOST, port: Number(port) }, { host: HOST, port: '--port' });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'account-cli',
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
        id_token_signed_response_alg: 'EdDSA',
        redirect_uris: [],
        response_types: [],
      },
    ],
    jwks: { keys: [key] },
    enabledJWA: { idTokenSigningAlgValues: ['EdDSA'] },
    cookies: { keys: [randomUUID()] },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
    extraTokenClaims: () => ({ [orgClaim]: org }),
    features: {
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          audience: audience ?? 'account-gateway',
          scope: 'account:read account:write',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'EdDSA' } },
        }),
      },
    },
  });
  server.on('request', provider.callback());
  printLine(`Listening on ${issuer}. Sign in with any name and password.`);
});
