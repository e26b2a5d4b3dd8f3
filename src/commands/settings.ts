import { randomBytes } from 'node:crypto';
import { readDevelopmentPublicKeys } from '../config/development-keys.ts';
import { readConfig } from '../config.ts';
import { runCommand } from './run-command.ts';

const ISSUER = 'http://localhost';
const AUDIENCE = 'workspace-account-gateway';

/**
 * Prints production settings for evaluation: new secrets, and the public part of the development key with which
 * `npm run token` signs.
 */
runCommand('npm run -s settings > .env', async () => {
  const { dataDir } = readConfig();
  const settings = {
    AUTH_JWKS: JSON.stringify(await readDevelopmentPublicKeys(dataDir)),
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    ENCRYPTION_KEYS: `key-1:${randomBytes(32).toString('base64')}`,
    POSTGRES_PASSWORD: randomBytes(24).toString('hex'),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  process.stdout.write(
    [
      '# For evaluation only: anyone with the development key in DATA_DIR can sign tokens for these gateways, for example:',
      `#   AUTH_ISSUER=${ISSUER} AUTH_AUDIENCE=${AUDIENCE} npm run -s token -- --sub alice --org acme`,
      ...lines,
      '',
    ].join('\n'),
  );
});
