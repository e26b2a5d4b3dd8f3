import type { IncomingMessage } from 'node:http';
import { scopes } from '../auth/viewer.ts';
import { signDevelopmentToken } from '../config/development-keys.ts';
import type { Config } from '../config.ts';

/** Creates a token for one load of the page; null if this load must not contain one. */
export type PageToken = (request: IncomingMessage) => Promise<string | null>;

const LIFETIME_SECONDS = 3600;

/** Only loopback addresses: any other name could resolve to this machine (DNS rebinding). */
const OWN_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** Headers that proxies add. A forwarded request can come from any machine. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Creates tokens for GraphiQL on a developer's machine: user `alice`, organization `acme`, every scope, valid for one
 * hour. Returns undefined in production, with a configured key set, and if `PUBLIC_URL` is not a loopback address.
 */
export function createPageToken(config: Config): PageToken | undefined {
  if (config.production || config.keySet.kind !== 'development') return undefined;
  if (config.publicUrl !== null && !OWN_MACHINE.test(new URL(config.publicUrl).host)) return undefined;
  const claims = { sub: 'alice', [config.orgClaim]: 'acme', scope: scopes.join(' ') };
  return async ({ headers }) =>
    isOpenedLocally(headers) ? signDevelopmentToken(config, claims, LIFETIME_SECONDS) : null;
}

/**
 * Whether a browser on this machine navigates to the page. Excludes other sites that read it by DNS rebinding (Host),
 * CORS (Origin) or embedding (Fetch Metadata).
 */
function isOpenedLocally(headers: IncomingMessage['headers']): boolean {
  const { host = '', origin, 'sec-fetch-dest': destination = 'document' } = headers;
  return (
    OWN_MACHINE.test(host) &&
    origin === undefined &&
    destination === 'document' &&
    PROXY_HEADERS.every((name) => headers[name] === undefined)
  );
}
