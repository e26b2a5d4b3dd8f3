import { readDevelopmentEncryptionKeys } from '../auth/development-key.ts';
import { readConfig } from '../config.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { countByOldKey, type KeyUse, rotateBatch } from '../editor-auth/rotate-credentials.ts';
import { type CredentialCipher, createCredentialCipher } from '../encryption/credential-cipher.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { startDatabaseServer } from '../postgres/start-postgres.ts';
import { printLine, runCommand } from './run.ts';

const BATCH_SIZE = 100;

/**
 * Re-encrypts credentials with the first of ENCRYPTION_KEYS. Gateways can run at the same time. Each batch is one
 * transaction, so the command can be interrupted and run again.
 */
runCommand('npm run -s keys:rotate', async () => {
  const config = readConfig();
  const keys = config.encryptionKeys ?? (await readDevelopmentEncryptionKeys(config.dataDir));
  const cipher = createCredentialCipher(keys);
  const server = await startDatabaseServer(config, 'command', printLine);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await rotate(database, cipher);
  } finally {
    await database.close();
    await server.stop();
  }
});

async function rotate(database: Database, cipher: CredentialCipher): Promise<void> {
  let left = sumUses(await countByOldKey(database.em.fork(), cipher));
  printLine(`Credentials encrypted with keys other than "${cipher.currentKeyId}": ${left}`);
  for (let after: string | null = ''; after !== null; ) {
    const { reencrypted, damaged, next } = await rotateBatch(database.em.fork(), cipher, after, BATCH_SIZE);
    after = next;
    left -= reencrypted;
    if (reencrypted > 0) printLine(`Re-encrypted ${reencrypted}, ${Math.max(left, 0)} left.`);
    if (damaged.length > 0)
      printLine(`Skipped, because decryption failed: users ${JSON.stringify(damaged)}.`);
  }
  const remaining = await countByOldKey(database.em.fork(), cipher);
  if (remaining.length > 0) throw new OperatorError(explain(remaining, cipher));
  printLine(`All credentials are encrypted with "${cipher.currentKeyId}".`);
}

function explain(remaining: readonly KeyUse[], cipher: CredentialCipher): string {
  const lines = remaining.map(({ keyId, count }) =>
    cipher.canRead(keyId)
      ? `  ${count} encrypted with "${keyId}". Those of the users named above are damaged or were encrypted with another key of this ID: set the right key, or have these users connect again. The others were stored meanwhile by a gateway with the old settings: configure the new first key on every gateway. Then run this command again.`
      : `  ${count} encrypted with "${keyId}", which ENCRYPTION_KEYS does not contain. Add it after the first key, then run this command again.`,
  );
  return [`Credentials not re-encrypted: ${sumUses(remaining)}`, ...lines].join('\n');
}

function sumUses(uses: readonly KeyUse[]): number {
  return uses.reduce((sum, { count }) => sum + count, 0);
}
