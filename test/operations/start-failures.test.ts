import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openKeySet } from '../../src/auth/key-set.ts';
import { readDevelopmentEncryptionKeys } from '../../src/config/development-keys.ts';
import { readConfig } from '../../src/config.ts';
import { OperatorError } from '../../src/errors/failure.ts';
import { createLog } from '../../src/log.ts';
import { listen } from '../../src/server/listen.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { runProcess } from '../support/process.ts';

/*
 * Errors that prevent a start are reported with a fix. An invalid configuration, a port in use, a running gateway and
 * an unusable or unmigrated database are tested elsewhere.
 */

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
});
afterAll(() => removeFolder(folder));

test.each(['a-file', 'a-file/below'])('exits with status 1 if DATA_DIR is not a folder: %s', async (name) => {
  await writeFile(join(folder, 'a-file'), '');
  const path = join(folder, name);
  const ended = await runProcess('src/main.ts', { DATA_DIR: path, PORT: '0', GRAPHIQL: 'false' });
  expect(ended).toEqual({
    status: 1,
    stdout: '',
    stderr: `${path} is not a directory. Set DATA_DIR to a directory.\n`,
  });
});

test.each(['', 'nonsense', '{}', '{"kty":"OKP"}'])(
  'reports the path of a signing key file with the content "%s", and the effect of removing it',
  async (content) => {
    const path = join(folder, 'signing-key.json');
    await writeFile(path, content);
    const opening = openKeySet(
      readConfig({ DATA_DIR: folder }),
      createLog('silent', { write: () => undefined }),
    );
    await expect(opening).rejects.toThrow(OperatorError);
    await expect(opening).rejects.toThrow(`${path} does not contain an Ed25519 key. Delete it`);
  },
);

test.each(['', 'nonsense', 'c2hvcnQ='])(
  'reports the path of an encryption key file with the content "%s", and the effect of removing it',
  async (content) => {
    const path = join(folder, 'encryption-key');
    await writeFile(path, content);
    const opening = readDevelopmentEncryptionKeys(folder);
    await expect(opening).rejects.toThrow(OperatorError);
    await expect(opening).rejects.toThrow(`${path} does not contain 32 bytes in base64. Restore it`);
  },
);

test('reports a host that is not an address of this machine', async () => {
  const listening = listen(createServer(), { host: '192.0.2.1', port: 0 });
  await expect(listening).rejects.toThrow(OperatorError);
  await expect(listening).rejects.toThrow(/^"192\.0\.2\.1" is not an address of this machine\. Set HOST /);
});
