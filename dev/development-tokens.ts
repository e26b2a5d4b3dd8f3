import type { IncomingHttpHeaders } from 'node:http';
import type { Connect, Plugin } from 'vite';
import { signDevelopmentToken } from '../src/config/development-keys.ts';
import { readConfig } from '../src/config.ts';
import { lazy } from '../src/values/lazy.ts';
import { readInboxSettings } from './inbox-settings.ts';

/**
 * Forwards `/graphql` to GATEWAY_URL, and serves `/token`, as the session of a real web app would: each request gets a new
 * token of INBOX_USER, a member of INBOX_ORGANIZATION (none if it is empty), valid for INBOX_TOKEN_SECONDS. Pages of other
 * origins, which Vite allows if they are on this machine, get none. The gateway must use the development key.
 */
export function developmentTokens(): Plugin {
  // Not before a server starts: builds and checks load the plugin, too.
  const readSettings = lazy(readInboxSettings);
  const serve = async ({ middlewares }: { middlewares: Connect.Server }) => {
    const { DATA_DIR, INBOX_USER, INBOX_ORGANIZATION, INBOX_TOKEN_SECONDS } = await readSettings();
    const config = readConfig({ DATA_DIR });
    const claims = {
      sub: INBOX_USER,
      ...(INBOX_ORGANIZATION !== '' && { [config.orgClaim]: INBOX_ORGANIZATION }),
    };
    middlewares.use('/token', ({ headers }, response, next) => {
      if (!isSameOrigin(headers)) return response.writeHead(403).end('Only pages of this server get tokens.');
      signDevelopmentToken(config, claims, INBOX_TOKEN_SECONDS).then((token) => {
        response.setHeader('Cache-Control', 'no-store').end(token);
      }, next);
    });
  };
  return {
    name: 'development-tokens',
    apply: 'serve',
    config: async () => ({ server: { proxy: { '/graphql': (await readSettings()).GATEWAY_URL } } }),
    configureServer: serve,
    configurePreviewServer: serve,
  };
}

/** Browsers send `Sec-Fetch-Site` to this machine, and `Origin` to others that serve without TLS. */
function isSameOrigin({
  host,
  origin,
  'sec-fetch-site': site = 'same-origin',
}: IncomingHttpHeaders): boolean {
  return site === 'same-origin' && (origin === undefined || URL.parse(origin)?.host === host);
}
