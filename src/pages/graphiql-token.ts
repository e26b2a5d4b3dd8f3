import type { IncomingMessage } from 'node:http';
import { signDevelopmentToken } from '../auth/development-key.ts';
import { scopes } from '../auth/viewer.ts';
import type { Config } from '../config.ts';

/** Makes a token for one load of the page; null where this load must not carry one. */
export type PageToken = (request: IncomingMessage) => Promise<string | null>;

const LIFETIME_SECONDS = 3600;

/** A Host that only this machine's own browser can mean: a name that anybody may register could be led here too. */
const OWN_MACHINE = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** What a proxy adds: behind one, any machine may be asking. */
const FORWARDED = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'];

/**
 * Tokens for GraphiQL on a developer's own machine: a user `alice` of the organization `acme`, with every scope, for an
 * hour. Undefined in production, with a configured key set, and where the gateway is known by another machine's name.
 */
export function createPageToken(config: Config): PageToken | undefined {
  if (config.production || config.keySet.kind !== 'development') return undefined;
  if (config.publicUrl !== null && !OWN_MACHINE.test(new URL(config.publicUrl).host)) return undefined;
  const claims = { sub: 'alice', [config.orgClaim]: 'acme', scope: scopes.join(' ') };
  return async ({ headers }) =>
    isOpenedHere(headers) ? signDevelopmentToken(config, claims, LIFETIME_SECONDS) : null;
}

/**
 * Whether a browser on this machine opens the page, rather than a page of somebody else's reading it: by its own name
 * for this address (DNS rebinding), by CORS (then there is an Origin), or from within another page (Fetch Metadata).
 */
function isOpenedHere(headers: IncomingMessage['headers']): boolean {
  const { host = '', origin, 'sec-fetch-dest': destination = 'document' } = headers;
  return (
    OWN_MACHINE.test(host) &&
    origin === undefined &&
    destination === 'document' &&
    FORWARDED.every((name) => headers[name] === undefined)
  );
}
