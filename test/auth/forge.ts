import { AUDIENCE, ISSUER } from '../support/tokens.ts';

/** The claims of a token that is accepted. */
export const goodClaims = () => ({
  sub: 'alice',
  iss: ISSUER,
  aud: AUDIENCE,
  exp: Math.floor(Date.now() / 1000) + 3600,
});

/** Builds a token with any signature, also one that no library would create. */
export function forge(
  header: object,
  sign: (input: Buffer) => Buffer,
  claims: object = goodClaims(),
): string {
  const input = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${input}.${sign(Buffer.from(input)).toString('base64url')}`;
}
