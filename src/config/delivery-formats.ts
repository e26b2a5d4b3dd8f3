import { createECDH, createPrivateKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { Secret } from '../values/secret.ts';
import { connectionUrl, reject } from './formats.ts';

/** A mailbox: display name, empty if there is none, and address. */
export type Mailbox = { name: string; address: string };

/** The URL of a mail server, which may contain a password. */
export const smtpUrl = connectionUrl('smtp:', 'smtps:')
  .refine((text) => URL.parse(text)?.hostname !== '', 'must name a host')
  .transform((text) => new Secret(text));

const ADDRESS = z.email();

/** `user@example.com`, `Name <user@example.com>` or `"Name" <user@example.com>`. */
export const mailbox = z.string().transform((text, context): Mailbox => {
  const [, name = '', address = text] = /^([^<>\p{Cc}]*)<([^<>]+)>$/u.exec(text.trim()) ?? [];
  if (ADDRESS.safeParse(address.trim()).success)
    return { name: unquote(name.trim()), address: address.trim() };
  return reject(context, 'must be an email address: Workspaces <no-reply@example.com>');
});

/** Returns the content of a quoted string (RFC 5322, section 3.2.4), and any other text unchanged. */
function unquote(name: string): string {
  const [, content] = /^"((?:[^"\\]|\\.)*)"$/.exec(name) ?? [];
  return content?.replaceAll(/\\(.)/g, '$1') ?? name;
}

const CURVE = 'prime256v1';

/** Reads the 32 bytes of a P-256 private key (RFC 8292, section 2). */
export const vapidKey = z.string().transform((text, context): KeyObject => {
  const bytes = Buffer.from(text, 'base64url');
  try {
    if (bytes.length !== 32) throw new Error('A P-256 private key has 32 bytes.');
    const curve = createECDH(CURVE);
    curve.setPrivateKey(bytes);
    // The uncompressed form: 0x04, x, y.
    const point = curve.getPublicKey();
    const x = point.toString('base64url', 1, 33);
    const y = point.toString('base64url', 33);
    const d = bytes.toString('base64url');
    return createPrivateKey({ format: 'jwk', key: { kty: 'EC', crv: 'P-256', x, y, d } });
  } catch {
    return reject(context, 'must be a P-256 private key, 32 bytes in base64url (npm run -s vapid:key)');
  }
});

/** The contact of the operator (RFC 8292, section 2.1). */
export const vapidSubject = z
  .string()
  .refine(
    (text) => ['mailto:', 'https:'].includes(URL.parse(text)?.protocol ?? ''),
    'must be a mailto: or https: URL, at which push services reach the operator',
  );

/** The ID is encoded before it replaces `{id}`. */
export const appUrl = z
  .string()
  .refine(
    (text) =>
      text.split('{id}').length === 2 &&
      /^https?:$/.test(URL.parse(text.replace('{id}', 'id'))?.protocol ?? ''),
    'must be an http or https URL with {id} in place of the ID: https://app.example.com/inbox/{id}',
  );

/** Hosts with an optional port, in lower case. */
export const allowedHosts = z
  .string()
  .transform((text): readonly string[] => text.split(',').map((part) => part.trim().toLowerCase()))
  .refine(
    (parts) => parts.every((part) => URL.parse(`https://${part}`)?.host === part),
    'must be comma-separated hosts, each with its port unless it is 443: push.example.com',
  );
