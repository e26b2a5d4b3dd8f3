import { parseArgs } from 'node:util';
import { signDevelopmentToken } from '../auth/development-key.ts';
import { readConfig } from '../config.ts';
import { OperatorError } from '../errors/operator-error.ts';
import { isId } from '../values/text.ts';
import { runCommand, UsageError, warnOfNewKey } from './run-command.ts';

const usage = 'npm run -s token -- --sub USER [--org ORGANIZATION] [--scope "account:read ..."] [--ttl 1h]';

const seconds = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Prints a token signed with the development key. */
runCommand(usage, async () => {
  const { sub, org, scope, ttl } = parseArgs({
    options: {
      sub: { type: 'string' },
      org: { type: 'string' },
      scope: { type: 'string' },
      ttl: { type: 'string', default: '1h' },
    },
  }).values;
  const config = readConfig();
  if (config.keySet.kind !== 'development') {
    throw new OperatorError(
      'Signing tokens requires the development signing key. Unset AUTH_JWKS_URL and AUTH_JWKS.',
    );
  }
  if (sub === undefined || !isId(sub))
    throw new UsageError('--sub must be a user ID of 1 to 255 characters.');
  if (org === '') throw new UsageError('--org must not be empty.');
  const claims = {
    sub,
    ...(org !== undefined && { [config.orgClaim]: org }),
    ...(scope !== undefined && { scope }),
  };
  const token = await signDevelopmentToken(config, claims, parseTtl(ttl), warnOfNewKey);
  process.stdout.write(`${token}\n`);
});

function parseTtl(ttl: string): number {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(ttl) ?? [];
  switch (unit) {
    case 's':
    case 'm':
    case 'h':
    case 'd':
      return Number(count) * seconds[unit];
    default:
      throw new UsageError('--ttl must be a number followed by s, m, h or d, for example 30m.');
  }
}
