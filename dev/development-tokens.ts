import type { IncomingHttpHeaders } from 'node:http';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Connect, Plugin } from 'vite';
import { signDevelopmentToken } from '../src/config/development-keys.ts';
import { readConfig } from '../src/config.ts';

const repository = fileURLToPath(new URL('../', import.meta.url));

/**
 * Serves `/token`, as the session of a real web app would: each request gets a new token of INBOX_USER, a member of
 * INBOX_ORGANIZATION (none if it is empty), valid for INBOX_TOKEN_SECONDS. Pages of other origins, which Vite allows if they
 * are on this machine, get none. The gateway must use the development key.
 */
export function developmentTokens(environment: NodeJS.ProcessEnv = process.env): Plugin {
  const { INBOX_USER = 'alice', INBOX_ORGANIZATION = 'acme', INBOX_TOKEN_SECONDS = '600' } = environment;
  // npm starts Vite in its own folder; the gateway's key is in the folder of the repository.
  const config = readConfig({ DATA_DIR: resolve(repository, environment.DATA_DIR ?? '.data') });
  const claims = {
    sub: INBOX_USER,
    ...(INBOX_ORGANIZATION !== '' && { [config.orgClaim]: INBOX_ORGANIZATION }),
  };
  const serve = ({ middlewares }: { middlewares: Connect.Server }) => {
    middlewares.use('/token', ({ headers }, response, next) => {
      if (!isSameOrigin(headers)) return response.writeHead(403).end('Only pages of this server get tokens.');
      signDevelopmentToken(config, claims, Number(INBOX_TOKEN_SECONDS)).then((token) => {
        response.setHeader('Cache-Control', 'no-store').end(token);
      }, next);
    });
  };
  return { name: 'development-tokens', configureServer: serve, configurePreviewServer: serve };
}

/** Browsers send `Sec-Fetch-Site` to this machine, and `Origin` to others that serve without TLS. */
function isSameOrigin({
  host,
  origin,
  'sec-fetch-site': site = 'same-origin',
}: IncomingHttpHeaders): boolean {
  return site === 'same-origin' && (origin === undefined || URL.parse(origin)?.host === host);
}
