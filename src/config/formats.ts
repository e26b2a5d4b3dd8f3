import { createSecretKey, type KeyObject } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { JSONWebKeySet } from 'jose';
import { z } from 'zod';
import { Secret } from '../values/secret.ts';

/** Encryption keys by ID; the first one encrypts. `KeyObject`s do not print their bytes. */
export type EncryptionKeys = ReadonlyMap<string, KeyObject>;

/** A whole number in a range, as decimal digits. */
export function wholeNumber(minimum: number, maximum: number) {
  const rule = `must be a whole number from ${minimum} to ${maximum}`;
  return z
    .string()
    .regex(/^\d{1,15}$/, rule)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, rule);
}

/**
 * Words separated by spaces. Commas and quotation marks are rejected, because they would become part of a word. `what`
 * describes the words.
 */
export function words(what: string) {
  return z
    .string()
    .transform((text): readonly string[] => text.split(' ').filter((word) => word !== ''))
    .refine(
      (parts) => parts.length > 0 && parts.every((part) => /^[\w.:/@*+~-]+$/.test(part)),
      `must be ${what}`,
    );
}

/** `true` or `false`. */
export const trueOrFalse = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((word) => word === 'true');

/** `true` or `false`. */
export function yesOrNo(defaultValue: 'true' | 'false') {
  return trueOrFalse.prefault(defaultValue);
}

/** An `http` or `https` URL. Requests and links would contain a user name and password in it, and so would the log. */
export const webUrl = z
  .string()
  .refine(
    (text) => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
    'must be a URL that starts with http:// or https://',
  )
  .refine((text) => {
    const { username = '', password = '' } = URL.parse(text) ?? {};
    return username === '' && password === '';
  }, 'must not contain a user name or password, because it is logged');

/** Origins (RFC 6454), separated by commas. */
export const origins = z
  .string()
  .transform((text): readonly string[] => text.split(',').map((part) => part.trim()))
  .refine(
    (parts) => parts.every((part) => /^https?:/.test(part) && URL.parse(part)?.origin === part),
    'must be comma-separated origins without a path or trailing slash: https://app.example.com',
  );

/** Adds an issue without the invalid value, which may contain a key. */
export function reject(context: z.core.$RefinementCtx, message: string) {
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

/** A JSON Web Key Set with public keys (RFC 7517, section 5), or the path of a file with one. */
export const jwks = z.string().transform((text, context): JSONWebKeySet => {
  let content = text;
  if (!text.trimStart().startsWith('{')) {
    try {
      content = readFileSync(text, 'utf8');
    } catch {
      return reject(context, 'is neither a JSON key set nor the path of a readable file');
    }
  }
  try {
    const keySet = KeySet.parse(JSON.parse(content));
    if (keySet.keys.some((key) => 'd' in key))
      return reject(context, 'contains a private key; set public keys only');
    return lacksPublicKey(keySet) ? reject(context, NO_PUBLIC_KEY) : keySet;
  } catch {
    return reject(context, 'is not a JSON key set: expected {"keys": [...]} with at least one key');
  }
});

/** The reason why a key set cannot verify tokens. */
export const NO_PUBLIC_KEY =
  'contains no public key (kty RSA, EC or OKP), and tokens signed with a shared secret (kty oct) are not accepted; let the issuer sign with a private key';

/** Whether a key set has keys, but none of a kind that can verify tokens. */
export function lacksPublicKey({ keys }: JSONWebKeySet): boolean {
  return keys.length > 0 && !keys.some(({ kty }) => kty === 'RSA' || kty === 'EC' || kty === 'OKP');
}

const KeySet = z.looseObject({ keys: z.array(z.looseObject({ kty: z.string() })).min(1) });

/** Keys of 32 bytes with their IDs, separated by commas. */
export const encryptionKeys = z.string().transform((text, context): EncryptionKeys => {
  const keys = new Map<string, KeyObject>();
  for (const [index, part] of text.split(',').entries()) {
    const [, id, base64] = /^\s*([\w.-]{1,64}):([A-Za-z0-9+/_-]+={0,2})\s*$/.exec(part) ?? [];
    const bytes = Buffer.from(base64 ?? '', 'base64');
    if (id === undefined || bytes.length !== 32) {
      const found = id === undefined ? '' : `; got ${bytes.length} bytes`;
      return reject(
        context,
        `key ${index + 1} must be <id>:<base64 of 32 bytes>${found}. Generate one with: openssl rand -base64 32`,
      );
    }
    if (keys.has(id)) return reject(context, `the key ID "${id}" is repeated`);
    keys.set(id, createSecretKey(bytes));
  }
  return keys;
});

/** Printable ASCII without spaces, because the token is sent in a header. `hint` follows the message. */
export function bearerToken(minimum: number, hint = '') {
  return z
    .string()
    .regex(
      new RegExp(`^[!-~]{${minimum},1024}$`),
      `must be ${minimum} to 1024 printable ASCII characters without spaces${hint}`,
    )
    .transform((text) => new Secret(text));
}

/** Whether a host is reachable only from this machine. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/** Returns the host name or IP address of a URL, without the brackets around an IPv6 address. */
export function readHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

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
