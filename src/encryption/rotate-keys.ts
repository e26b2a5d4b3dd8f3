import type { EntityManager } from '@mikro-orm/postgresql';
import type { EncryptionKeys } from '../config.ts';
import { OperatorError } from '../errors/failure.ts';
import { createCredentialCipher, createSubscriptionCipher } from './bound-cipher.ts';
import {
  countByOldKey,
  describeTable,
  type EncryptedTable,
  type KeyUse,
  rotateBatch,
} from './rotate-ciphertexts.ts';

const BATCH_SIZE = 100;

type PrintLine = (line: string) => void;

/**
 * Re-encrypts credentials and push subscriptions with the first key, and prints the progress. Each batch is one
 * transaction, so this can be interrupted and run again.
 * @throws {OperatorError} if records remain that could not be re-encrypted
 */
export async function rotateKeys(
  em: EntityManager,
  keys: EncryptionKeys,
  printLine: PrintLine,
): Promise<void> {
  const problems: string[] = [];
  for (const kind of listKinds(keys)) problems.push(...(await rotate(em, kind, printLine)));
  if (problems.length > 0) throw new OperatorError(problems.join('\n'));
}

/** What is encrypted, and what the operator does about a damaged record. */
type Kind = { records: string; Records: string; replace: string; table: EncryptedTable };

function listKinds(keys: EncryptionKeys): readonly Kind[] {
  return [
    {
      records: 'credentials',
      Records: 'Credentials',
      replace: 'have these users connect again',
      table: describeTable(
        'EditorCredential',
        'version',
        createCredentialCipher(keys),
        (userId, version) => ({ userId, version }),
      ),
    },
    {
      records: 'push subscriptions',
      Records: 'Push subscriptions',
      replace: 'have these users register their browsers again',
      table: describeTable('PushSubscription', 'id', createSubscriptionCipher(keys), (userId, id) => ({
        userId,
        id,
      })),
    },
  ];
}

/** Re-encrypts one kind of records. Returns what the operator must do about the records that remain. */
async function rotate(
  em: EntityManager,
  { records, Records, replace, table }: Kind,
  printLine: PrintLine,
): Promise<string[]> {
  let left = sumUses(await countByOldKey(em, table));
  printLine(`${Records} encrypted with keys other than "${table.currentKeyId}": ${left}`);
  for (let after: string | null = ''; after !== null; ) {
    const { reencrypted, damaged, next } = await rotateBatch(em, table, after, BATCH_SIZE);
    after = next;
    left -= reencrypted;
    if (reencrypted > 0) printLine(`Re-encrypted ${reencrypted}, ${Math.max(left, 0)} left.`);
    if (damaged.length > 0)
      printLine(`Skipped, because decryption failed: users ${JSON.stringify(damaged)}.`);
  }
  const remaining = await countByOldKey(em, table);
  if (remaining.length > 0) {
    const lines = remaining.flatMap((use) => explain(use, table, replace));
    return [`${Records} not re-encrypted: ${sumUses(remaining)}`, ...lines];
  }
  printLine(`All ${records} are encrypted with "${table.currentKeyId}".`);
  return [];
}

function explain({ keyId, count }: KeyUse, table: EncryptedTable, replace: string): string[] {
  if (!table.canRead(keyId)) {
    return [
      `  ${count} encrypted with "${keyId}", which ENCRYPTION_KEYS does not contain. Add it after the first key, then run this command again.`,
    ];
  }
  return [
    `  ${count} encrypted with "${keyId}".`,
    `    Users named above: the ciphertext is damaged, or the ID "${keyId}" now names a different key. Restore that key, or ${replace}.`,
    '    Others: written during this run by a gateway with the old settings. Put the new key first on every gateway.',
    '    Then run this command again.',
  ];
}

function sumUses(uses: readonly KeyUse[]): number {
  return uses.reduce((sum, { count }) => sum + count, 0);
}
