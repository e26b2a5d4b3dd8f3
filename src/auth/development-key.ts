import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  calculateJwkThumbprint,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JSONWebKeySet,
  SignJWT,
} from 'jose';
import { z } from 'zod';
import type { Config, EncryptionKeys } from '../config.ts';
import { OperatorError } from '../errors/operator-error.ts';

const ALGORITHM = 'EdDSA';

/**
 * The public half of the development signing key, as a key set. The key is made at first use.
 * @throws {OperatorError} where its file holds something else
 */
export async function developmentPublicKeys(dataDir: string): Promise<JSONWebKeySet> {
  const { d: _private, ...publicKey } = await signingKey(dataDir);
  return { keys: [publicKey] };
}

/**
 * Signs a token with the development key (RFC 7519) that the gateway of these settings takes. The key is made at first
 * use, which is reported with its path.
 */
export async function signDevelopmentToken(
  { dataDir, issuer, audience }: Pick<Config, 'dataDir' | 'issuer' | 'audience'>,
  claims: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number,
  onNewKey?: (path: string) => void,
): Promise<string> {
  const jwk = await signingKey(dataDir, onNewKey);
  const now = Math.floor(Date.now() / 1000);
  const registered = {
    iat: now,
    exp: now + lifetimeSeconds,
    ...(issuer !== null && { iss: issuer }),
    ...(audience !== null && { aud: audience }),
  };
  return new SignJWT({ ...registered, ...claims })
    .setProtectedHeader({ alg: ALGORITHM, kid: jwk.kid, typ: 'JWT' })
    .sign(await importJWK(jwk, ALGORITHM));
}

/**
 * The development encryption key, made at first use.
 * @throws {OperatorError} where its file holds something else
 */
export async function developmentEncryptionKeys(dataDir: string): Promise<EncryptionKeys> {
  const path = join(dataDir, 'encryption-key');
  const text = await readOrMake(path, async () => randomBytes(32).toString('base64'));
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32) {
    throw new OperatorError(
      `${path} does not hold 32 bytes in base64. Bring it back from a backup, or remove it to have a new key made: ` +
        'stored editor credentials cannot be read then.',
    );
  }
  return new Map([['development', createSecretKey(key)]]);
}

const SigningKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  d: z.string(),
  kid: z.string(),
});

async function signingKey(
  dataDir: string,
  onNewKey?: (path: string) => void,
): Promise<z.output<typeof SigningKey>> {
  const path = join(dataDir, 'signing-key.json');
  const make = async () => {
    const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
    const jwk = await exportJWK(privateKey);
    return JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk) });
  };
  const text = await readOrMake(path, make, onNewKey);
  try {
    return SigningKey.parse(JSON.parse(text));
  } catch (error) {
    throw new OperatorError(
      `${path} does not hold an Ed25519 key. Remove it to have a new one made: earlier tokens do not hold then.`,
      { cause: error },
    );
  }
}

/** Reads a file, or makes it whole for its owner alone; of two makers at once the first one's content stays. */
async function readOrMake(
  path: string,
  make: () => Promise<string>,
  onMake?: (path: string) => void,
): Promise<string> {
  if (!existsSync(path)) {
    await mkdir(dirname(path), { recursive: true });
    const draft = `${path}.${randomUUID()}`;
    await writeFile(draft, await make(), { mode: 0o600 });
    await link(draft, path).then(
      () => onMake?.(path),
      (error: NodeJS.ErrnoException) => {
        if (error.code !== 'EEXIST') throw error;
      },
    );
    await rm(draft);
  }
  return readFile(path, 'utf8');
}
