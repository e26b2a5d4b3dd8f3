import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** An issuer of tokens. */
export type Issuer = {
  /** The gateway's settings to verify its tokens. */
  environment: Record<string, string>;
  /** Signs a token that is valid for one hour. */
  sign(claims: { sub: string; org_id?: string; scope?: string }): Promise<string>;
};

/** Creates an issuer with a new key. */
export async function createIssuer(): Promise<Issuer> {
  const { publicKey, privateKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519' });
  const jwk = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'EdDSA', use: 'sig' };
  const iss = 'https://issuer.bench';
  const aud = 'account-gateway';
  return {
    environment: { AUTH_JWKS: JSON.stringify({ keys: [jwk] }), AUTH_ISSUER: iss, AUTH_AUDIENCE: aud },
    sign: (claims) =>
      new SignJWT({ iss, aud, ...claims })
        .setProtectedHeader({ alg: 'EdDSA', kid: 'bench' })
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(privateKey),
  };
}
