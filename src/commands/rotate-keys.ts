import { readDevelopmentEncryptionKeys } from '../auth/development-key.ts';
import { readConfig } from '../config.ts';
import { type Database, openDatabase } from '../database/database.ts';
import { type KeyUse, olderKeys, rotateBatch } from '../editor-auth/rotate-credentials.ts';
import { type CredentialCipher, createCredentialCipher } from '../encryption/credential-cipher.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { startDatabaseServer } from '../postgres/start-postgres.ts';
import { runCommand, say } from './run.ts';

const BATCH = 100;

/**
 * Encrypts what lies under older keys anew under the first of ENCRYPTION_KEYS. Gateways go on serving meanwhile, and
 * it may be stopped at any time and run again: a batch is done whole or not at all.
 */
runCommand('npm run -s keys:rotate', async () => {
  const config = readConfig();
  const keys = config.encryptionKeys ?? (await readDevelopmentEncryptionKeys(config.dataDir));
  const cipher = createCredentialCipher(keys);
  const server = await startDatabaseServer(config, 'command', say);
  const database = await openDatabase({ url: server.url, poolSize: 1, timeoutMs: config.databaseTimeoutMs });
  try {
    await rotate(database, cipher);
  } finally {
    await database.close();
    await server.stop();
  }
});

async function rotate(database: Database, cipher: CredentialCipher): Promise<void> {
  let left = sumUses(await olderKeys(database.em.fork(), cipher));
  say(`${left} credentials lie under other keys than "${cipher.currentKeyId}".`);
  for (let after: string | null = ''; after !== null; ) {
    const { renewed, damaged, next } = await rotateBatch(database.em.fork(), cipher, after, BATCH);
    after = next;
    left -= renewed;
    if (renewed > 0) say(`${renewed} encrypted anew, ${Math.max(left, 0)} left.`);
    if (damaged.length > 0)
      say(`Left as they are, for they do not open: those of ${JSON.stringify(damaged)}.`);
  }
  const remaining = await olderKeys(database.em.fork(), cipher);
  if (remaining.length > 0) throw new OperatorError(explain(remaining, cipher));
  say(`Every credential lies under "${cipher.currentKeyId}".`);
}

function explain(remaining: readonly KeyUse[], cipher: CredentialCipher): string {
  const lines = remaining.map(({ keyId, count }) =>
    cipher.canRead(keyId)
      ? `  ${count} under "${keyId}". Those named above were damaged, or that key is another one than they were encrypted with: set the right key, or let their users connect again. Others were written meanwhile by a gateway with the old settings: give every gateway the new first key. Then run this again.`
      : `  ${count} under "${keyId}", which ENCRYPTION_KEYS does not hold. Add it after the first key, then run this again.`,
  );
  return [`${sumUses(remaining)} credentials are left as they were:`, ...lines].join('\n');
}

function sumUses(uses: readonly KeyUse[]): number {
  return uses.reduce((sum, { count }) => sum + count, 0);
}
