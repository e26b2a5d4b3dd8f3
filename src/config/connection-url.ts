import { z } from 'zod';
import { reject } from './formats.ts';

/** The messages about URLs, none of which contains a part of the URL. */
const ENCODE =
  'must have its user, password and path percent-encoded: "@" as %40, "/" as %2F, "#" as %23, "?" as %3F, "%" as %25';
const SEVERAL_HOSTS =
  'must name one host; for failover, set the address of a proxy, or an address that moves with the primary';
const INVALID = 'must have a valid host, and a port from 1 to 65535';

/**
 * The URL of a server, which may contain a password: scheme, then user, password, host and port as in RFC 3986. The
 * parsers of the clients would each read an unescaped separator in a password as the end of something else.
 */
export function connectionUrl(...protocols: string[]) {
  return z.string().transform((text, context): string => {
    const problem = findProblem(text, protocols);
    return problem === undefined ? text : reject(context, problem);
  });
}

function findProblem(text: string, protocols: readonly string[]): string | undefined {
  const protocol = protocols.find((name) => text.toLowerCase().startsWith(`${name}//`));
  if (protocol === undefined) {
    return `must be a URL that starts with ${protocols.map((name) => `${name}//`).join(' or ')}`;
  }
  const [, authority = '', path = '', rest = ''] =
    /^([^/?#]*)([^?#]*)(.*)$/s.exec(text.slice(protocol.length + 2)) ?? [];
  const [credentials = '', host = authority] = /^(.*)@(.*)$/s.exec(authority)?.slice(1) ?? [];
  // A separator in the password ends the authority, so the "@" before the host is found after it. Values of query
  // parameters may contain one.
  const afterAuthority = path + rest.replace(/[?&][\w.-]+=[^&#]*/g, '');
  // PostgreSQL's own programs read an "@" in a password as its end; the clients of the other servers read the last one.
  const isAmbiguous = protocol.startsWith('postgres') && credentials.includes('@');
  const isUnescaped = isAmbiguous || afterAuthority.includes('@');
  if (isUnescaped || /%(?![\da-f]{2})/i.test(credentials + path)) return ENCODE;
  const inQuery = new URLSearchParams(rest.replace(/^\?|#.*$/gs, '')).get('host') ?? '';
  if (host.includes(',') || inQuery.includes(',')) return SEVERAL_HOSTS;
  return URL.canParse(text) ? undefined : INVALID;
}
