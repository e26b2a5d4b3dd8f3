import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestHandler } from 'express';
import { z } from 'zod';
import { formatScopes, scopes, TASK_SCOPE } from '../auth/scopes.ts';
import { anonymous } from '../auth/viewer.ts';
import { signDevelopmentToken } from '../config/development-keys.ts';
import type { Config } from '../config.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { sendText } from '../http/messages.ts';
import { type ReadBody, readJson } from '../http/read-body.ts';
import { Secret } from '../values/secret.ts';

const KEY_BYTES = 32;

const LIFETIME_SECONDS = 3600;

/**
 * Creates the key with which the pages get a token from this process. Returns undefined without GraphiQL, in production
 * and with a configured key set. The key is printed as part of their URLs, in the fragment, which browsers send to
 * no server: a page cannot know whether a proxy in front of it serves other machines, but they do not have the key.
 */
export function createPageKey({
  graphiql,
  production,
  keySet,
}: Pick<Config, 'graphiql' | 'production' | 'keySet'>): Secret | undefined {
  const grantsTokens = graphiql && !production && keySet.kind === 'development';
  return grantsTokens ? new Secret(randomBytes(KEY_BYTES).toString('base64url')) : undefined;
}

/** Returns the URL of the page with the key, from which the boot script reads it. */
export function addPageKey(url: string, key: Secret): string {
  return `${url}#key=${key.reveal()}`;
}

const KeyBody = z.strictObject({ key: z.string() });

/**
 * Exchanges the key for a token of user `alice`, organization `acme`, with every scope except that of task tokens, valid
 * for one hour. Fails with a `NotFoundError` if the key is wrong, or if a page of another origin sends it.
 */
export function grantPageToken(config: Config, key: Secret, readBody: ReadBody): RequestHandler {
  const all = scopes.filter((scope) => scope !== TASK_SCOPE).join(' ');
  const claims = { sub: 'alice', [config.orgClaim]: 'acme', ...formatScopes(all, config.scopes) };
  return async (request, response) => {
    response.setHeader('Cache-Control', 'no-store');
    if (!isSameOrigin(request.headers)) throw new NotFoundError();
    const body = KeyBody.safeParse(await readJson(request, { viewer: anonymous, readBody }));
    if (!body.success || !key.matches(body.data.key)) throw new NotFoundError();
    const token = await signDevelopmentToken(config, claims, LIFETIME_SECONDS);
    sendText(response, 200, 'application/json', JSON.stringify({ token }));
  };
}

/** Browsers send `Sec-Fetch-Site` to `https` and loopback addresses, and `Origin` with every POST. */
function isSameOrigin({ host, origin, 'sec-fetch-site': site }: IncomingHttpHeaders): boolean {
  if (site !== undefined) return site === 'same-origin';
  return origin === undefined || origin.replace(/^https?:\/\//, '') === host;
}
