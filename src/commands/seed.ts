import { z } from 'zod';
import { formatScopes } from '../auth/scopes.ts';
import { signDevelopmentToken } from '../config/development-keys.ts';
import { type Config, readConfig } from '../config.ts';
import { OperatorError } from '../errors/failure.ts';
import { isId } from '../values/text.ts';
import { formatGatewayAddress, runCommand, UsageError, warnOfNewKey } from './run-command.ts';
import { notifications, workspaces } from './seed-records.ts';

const TOKEN_LIFETIME_SECONDS = 300;

const options = { user: { type: 'string' }, reset: { type: 'boolean', default: false } } as const;

/** Creates example records of one user through the API of a running gateway. `--reset` deletes the user's data first. */
runCommand('npm run -s seed -- --user USER [--reset]', { options }, async ({ values: { user, reset } }) => {
  if (user === undefined || !isId(user))
    throw new UsageError('--user must be a user ID of 1 to 255 characters.');
  const config = readConfig();
  if (config.keySet.kind !== 'development') {
    throw new OperatorError(
      'Seeding requires the development signing key. Unset AUTH_JWKS_URL and AUTH_JWKS.',
    );
  }
  const asPlatform = await createCaller(config, 'seed', 'platform:notifications platform:workspaces');
  const asUser = await createCaller(config, user, 'account:write');

  if (reset) {
    const asAdmin = await createCaller(config, 'seed', 'platform:admin');
    await asAdmin(deleteUser, { userId: user });
    process.stdout.write(`Deleted all data of ${user}.\n`);
  }
  for (const { id, task, title, project, payload, previewText, prUrl, outcome } of notifications) {
    const { projectId, projectName, projectRepoUrl } = project;
    await asPlatform(publish, {
      userId: user,
      id,
      title,
      payload,
      task: { id: task, projectId, name: title },
      projectName,
      projectRepoUrl,
      previewText: previewText ?? null,
      prUrl: prUrl ?? null,
    });
    if (outcome === 'resolved')
      await asPlatform(resolve, { userId: user, taskId: task, reason: 'ANSWERED_ELSEWHERE' });
    if (outcome === 'dismissed') await asUser(dismiss, { id });
  }
  await asPlatform(put, { userId: user, workspaces });
  process.stdout.write(
    `Stored ${notifications.length} notifications and ${workspaces.length} workspaces for ${user}.\n`,
  );
});

const deleteUser = 'mutation Delete($input: DeleteUserInput!) { deleteUser(input: $input) { deleted } }';
const publish =
  'mutation Publish($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
const resolve =
  'mutation Resolve($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { __typename } }';
const dismiss =
  'mutation Dismiss($input: DismissNotificationInput!) { dismissNotification(input: $input) { __typename } }';
const put = 'mutation Put($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { __typename } }';

const Reply = z.looseObject({ errors: z.array(z.looseObject({ message: z.string() })).optional() });

/** Creates a function that executes operations with a token of these scopes. */
async function createCaller(config: Config, sub: string, scopes: string) {
  const claims = { sub, ...formatScopes(scopes, config.scopes) };
  const token = await signDevelopmentToken(config, claims, TOKEN_LIFETIME_SECONDS, warnOfNewKey);
  const address = formatGatewayAddress(config);
  return async (query: string, input: object): Promise<void> => {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables: { input } }),
    }).catch(() => {
      throw new OperatorError(`No gateway is running at ${address}. Start one with: npm start`);
    });
    const { errors } = Reply.parse(await response.json());
    if (errors?.[0] !== undefined)
      throw new OperatorError(`The gateway rejected a record: ${errors[0].message}`);
  };
}
