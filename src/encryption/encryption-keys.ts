import { readDevelopmentEncryptionKeys } from '../config/development-keys.ts';
import type { Config, EncryptionKeys } from '../config.ts';

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
