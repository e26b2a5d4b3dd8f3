import { readConfig } from '../config.ts';
import { openDatabase } from '../database/database.ts';
import { startDatabaseServer } from '../database/database-server.ts';
import { readEncryptionKeys } from '../encryption/encryption-keys.ts';
import { rotateKeys } from '../encryption/rotate-keys.ts';
import { printLine, runCommand } from './run-command.ts';

/**
 * Re-encrypts credentials and push subscriptions with the first of ENCRYPTION_KEYS. Gateways can run at the same time.
 */
runCommand('npm run -s keys:rotate', async () => {
  const config = readConfig();
  const keys = await readEncryptionKeys(config);
  const server = await startDatabaseServer(config, 'shared', printLine);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await rotateKeys(database.fork(), keys, printLine);
  } finally {
    await database.close();
    await server.stop();
  }
});
