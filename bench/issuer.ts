import { exportJWK, generateKeyPair, SignJWT } from 'jose';

/** Signs tokens, and tells a gateway how to verify them. */
export type Issuer = {
  /** The gateway's settings. */
  environment: Record<string, string>;
  /** A token that holds for an hour. */
  sign(claims: { sub: string; org_id?: string; scope?: string }): Promise<string>;
};

/** An issuer with a key of its own. */
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
