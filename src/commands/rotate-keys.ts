import { readEncryptionKeys } from '../config/development-keys.ts';
import { readConfig } from '../config.ts';
import { rotateKeys } from '../encryption/rotate-keys.ts';
import { printLine, runCommand } from './run-command.ts';
import { useMigratedDatabase } from './use-database.ts';

/**
 * Re-encrypts credentials and push subscriptions with the first of ENCRYPTION_KEYS. Gateways can run at the same time.
 */
runCommand('npm run -s keys:rotate', {}, async () => {
  const config = readConfig();
  await useMigratedDatabase(config, async (database) => {
    // Without ENCRYPTION_KEYS, this creates a key, so it follows the check that there is a database.
    await rotateKeys(database.fork(), await readEncryptionKeys(config), printLine);
  });
});
