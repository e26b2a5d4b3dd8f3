import { formatScopes } from '../auth/scopes.ts';
import { signDevelopmentToken } from '../config/development-keys.ts';
import { readConfig } from '../config.ts';
import { OperatorError } from '../errors/failure.ts';
import { runCommand, warnOfNewKey } from './run-command.ts';
import { readTokenOptions, tokenOptions } from './token-options.ts';

const usage = `npm run -s token -- --sub USER [--org ORGANIZATION] [--scope "account:read ..."] [--ttl 1h]
       npm run -s token -- --task TASK --user USER [--ttl 1h]

  --sub    the user, or the service with --scope
  --org    an organization that the user is a member of
  --scope  what the token allows, by default the whole account of the user
  --ttl    how long it is valid: a number followed by s, m, h or d
  --task   the task that uses the token, for its notifications to --user only`;

/** Prints a token signed with the development key. */
runCommand(usage, { options: tokenOptions }, async ({ values }) => {
  const { sub, org, scope, task, seconds } = readTokenOptions(values);
  const config = readConfig();
  if (config.keySet.kind !== 'development') {
    throw new OperatorError(
      'Signing tokens requires the development signing key. Unset AUTH_JWKS_URL and AUTH_JWKS.',
    );
  }
  const claims = {
    sub,
    ...(org !== undefined && { [config.orgClaim]: org }),
    ...(scope !== undefined && formatScopes(scope, config.scopes)),
    ...(task &&
      config.taskClaims && {
        [config.taskClaims.user]: task.userId,
        [config.taskClaims.task]: task.taskId,
      }),
  };
  const token = await signDevelopmentToken(config, claims, seconds, warnOfNewKey);
  process.stdout.write(`${token}\n`);
});
