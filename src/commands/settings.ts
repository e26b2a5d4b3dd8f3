import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { readDevelopmentPublicKeys } from '../config/development-keys.ts';
import { readConfig } from '../config.ts';
import { OperatorError, readSystemErrorCode } from '../errors/failure.ts';
import { printLine, runCommand, UsageError } from './run-command.ts';

const ISSUER = 'http://localhost';
const AUDIENCE = 'workspace-account-gateway';

/**
 * Writes production settings for evaluation: new secrets, and the public part of the development key with which
 * `npm run token` signs. It writes the file itself, because only its owner may read it.
 */
runCommand('npm run -s settings [-- FILE]', { allowPositionals: true }, async ({ positionals }) => {
  const [path = '.env', ...others] = positionals;
  if (others.length > 0) throw new UsageError('Only one FILE can be written.');
  const { dataDir } = readConfig();
  const settings = {
    NODE_ENV: 'production',
    AUTH_JWKS: JSON.stringify(await readDevelopmentPublicKeys(dataDir)),
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    ENCRYPTION_KEYS: `key-1:${randomBytes(32).toString('base64')}`,
    POSTGRES_PASSWORD: randomBytes(24).toString('hex'),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const text = [
    '# For evaluation only: anyone with the development key in DATA_DIR can sign tokens for these gateways, for example:',
    `#   AUTH_ISSUER=${ISSUER} AUTH_AUDIENCE=${AUDIENCE} npm run -s token -- --sub alice --org acme`,
    ...lines,
    '',
  ].join('\n');
  // The mode of an existing file would remain, and its encryption keys would be lost.
  await writeFile(path, text, { mode: 0o600, flag: 'wx' }).catch((error: unknown) => {
    throw describeWriteFailure(path, error);
  });
  printLine(`Wrote ${path}, which only you can read.`);
});

function describeWriteFailure(path: string, error: unknown): unknown {
  switch (readSystemErrorCode(error)) {
    case 'EEXIST':
      return new OperatorError(
        `${path} exists and was not changed. Its secrets belong to the data that was stored with them: keep it, or move it away.`,
      );
    case 'ENOENT':
      return new OperatorError(`${path} cannot be written: its folder does not exist. Create the folder.`);
    case 'EACCES':
      return new OperatorError(`${path} cannot be written. Grant this user write access to its folder.`);
    default:
      return error;
  }
}
