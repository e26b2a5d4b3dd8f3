import { isIP } from 'node:net';
import { readHost } from '../../config/formats.ts';
import { MAX_LENGTH } from '../../values/text.ts';
import { isPublicAddress } from './public-address.ts';

/**
 * Returns the rule that an endpoint breaks; undefined if requests may be sent to it. Names are resolved and checked
 * when a socket connects. An endpoint whose host and port are in `allowedHosts` (PUSH_ALLOWED_HOSTS) need not use port
 * 443 or a public address.
 */
export function findEndpointIssue(endpoint: string, allowedHosts: readonly string[]): string | undefined {
  if (endpoint.length > MAX_LENGTH.url) return `must have at most ${MAX_LENGTH.url} characters`;
  const url = URL.parse(endpoint);
  if (url?.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password';
  if (allowedHosts.includes(url.host)) return undefined;
  if (url.port !== '') return 'must use port 443';
  const host = readHost(url);
  return isIP(host) === 0 || isPublicAddress(host) ? undefined : 'must have a public address';
}
