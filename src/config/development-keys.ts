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
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';

const ALGORITHM = 'EdDSA';

/**
 * Returns the public half of the development signing key as a key set. Generates the key at first use.
 * @throws {OperatorError} if the key file is invalid
 */
export async function readDevelopmentPublicKeys(dataDir: string): Promise<JSONWebKeySet> {
  const { d: _private, ...publicKey } = await readSigningKey(dataDir);
  return { keys: [publicKey] };
}

/**
 * Signs a token (RFC 7519) with the development key. Generates the key at first use and passes its path to `onNewKey`.
 * @throws {OperatorError} if the key file is invalid
 */
export async function signDevelopmentToken(
  { dataDir, issuer, audience }: Pick<Config, 'dataDir' | 'issuer' | 'audience'>,
  claims: Readonly<Record<string, unknown>>,
  lifetimeSeconds: number,
  onNewKey?: OnNewKey,
): Promise<string> {
  const jwk = await readSigningKey(dataDir, onNewKey);
  const now = Math.floor(Date.now() / 1000);
  const registered = { iat: now, exp: now + lifetimeSeconds };
  const configured = { ...(issuer !== null && { iss: issuer }), ...(audience !== null && { aud: audience }) };
  return new SignJWT({ ...registered, ...configured, ...claims })
    .setProtectedHeader({ alg: ALGORITHM, kid: jwk.kid, typ: 'JWT' })
    .sign(await importJWK(jwk, ALGORITHM));
}

/**
 * Returns the development encryption key. Generates it at first use.
 * @throws {OperatorError} if the key file is invalid
 */
export async function readDevelopmentEncryptionKeys(dataDir: string): Promise<EncryptionKeys> {
  const path = join(dataDir, 'encryption-key');
  const text = await readOrCreate(path, async () => randomBytes(32).toString('base64'));
  const key = Buffer.from(text, 'base64');
  if (key.length !== 32) {
    throw new OperatorError(
      `${path} does not contain 32 bytes in base64. Restore it from a backup, or delete it to generate a new key; ` +
        'stored editor credentials and push subscriptions then become unreadable, and sent unsubscribe links invalid.',
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

/** Called with the path of a key file that was created. */
type OnNewKey = (path: string) => void;

/** Returns the private development key. Generates it at first use. @throws {OperatorError} if the key file is invalid */
export async function readSigningKey(dataDir: string, onNewKey?: OnNewKey) {
  const path = join(dataDir, 'signing-key.json');
  const generate = async () => {
    const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true });
    const jwk = await exportJWK(privateKey);
    return JSON.stringify({ ...jwk, kid: await calculateJwkThumbprint(jwk) });
  };
  const text = await readOrCreate(path, generate, onNewKey);
  try {
    return SigningKey.parse(JSON.parse(text));
  } catch (error) {
    throw new OperatorError(
      `${path} does not contain an Ed25519 key. Delete it to generate a new one; earlier tokens then become invalid.`,
      { cause: error },
    );
  }
}

/**
 * Reads a file, or creates it readable by its owner only. If several processes create it at once, all read the content
 * of the first.
 * @throws {OperatorError} if its folder is not one
 */
async function readOrCreate(path: string, generate: () => Promise<string>, onNewKey?: OnNewKey) {
  if (!existsSync(path)) {
    await mkdir(dirname(path), { recursive: true }).catch((error: unknown) => {
      if (!/^(EEXIST|ENOTDIR)$/.test(readSystemErrorCode(error) ?? '')) throw error;
      throw new OperatorError(`${dirname(path)} is not a directory. Set DATA_DIR to a directory.`);
    });
    const draft = `${path}.${randomUUID()}`;
    await writeFile(draft, await generate(), { mode: 0o600 });
    const failure = await link(draft, path).catch((error: NodeJS.ErrnoException) => error);
    if (!failure) onNewKey?.(path);
    else if (failure.code !== 'EEXIST') throw failure;
    await rm(draft);
  }
  return readFile(path, 'utf8');
}

/**
 * Returns the configured encryption keys, or the development key.
 * @throws {OperatorError} if the file of the development key is invalid
 */
export async function readEncryptionKeys({
  encryptionKeys,
  dataDir,
}: Pick<Config, 'encryptionKeys' | 'dataDir'>): Promise<EncryptionKeys> {
  return encryptionKeys ?? readDevelopmentEncryptionKeys(dataDir);
}
