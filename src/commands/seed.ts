import { parseArgs } from 'node:util';
import { z } from 'zod';
import { signDevelopmentToken } from '../auth/development-key.ts';
import { type Config, readConfig } from '../config.ts';
import { isId } from '../values/text.ts';
import { formatGatewayAddress } from './gateway-address.ts';
import { runCommand, UsageError, warnOfNewKey } from './run.ts';
import { notifications, workspaces } from './seed-records.ts';

const TOKEN_SECONDS = 300;

/** Fills in one user's records over HTTP, through the platform operations of the running gateway. */
runCommand('npm run -s seed -- --user USER', async () => {
  const { user } = parseArgs({ options: { user: { type: 'string' } } }).values;
  if (user === undefined || !isId(user))
    throw new UsageError('--user must name the user, in 1 to 255 characters.');
  const config = readConfig();
  if (config.keySet.kind !== 'development') {
    throw new UsageError(
      'Seeding signs its tokens with the development key, and another key set is configured.',
    );
  }
  const asPlatform = await caller(config, { sub: 'seed', scope: 'platform:write' });
  const asUser = await caller(config, { sub: user });

  for (const { id, task, title, project, payload, previewText, prUrl, fate } of notifications) {
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
    if (fate === 'is resolved') await asPlatform(resolve, { userId: user, taskId: task, reason: 'ANSWERED' });
    if (fate === 'is dismissed') await asUser(dismiss, { id });
  }
  await asPlatform(put, { userId: user, workspaces });
  process.stdout.write(
    `${notifications.length} notifications and ${workspaces.length} workspaces of ${user}.\n`,
  );
});

const publish =
  'mutation Publish($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }';
const resolve =
  'mutation Resolve($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { __typename } }';
const dismiss =
  'mutation Dismiss($input: DismissNotificationInput!) { dismissNotification(input: $input) { __typename } }';
const put = 'mutation Put($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { __typename } }';

const Reply = z.looseObject({ errors: z.array(z.looseObject({ message: z.string() })).optional() });

/** Calls operations of the running gateway with a token of these claims. */
async function caller(config: Config, claims: Record<string, unknown>) {
  const token = await signDevelopmentToken(config, claims, TOKEN_SECONDS, warnOfNewKey);
  const address = formatGatewayAddress(config);
  return async (query: string, input: object): Promise<void> => {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables: { input } }),
    }).catch(() => {
      throw new UsageError(`No gateway answers at ${address}. Start one with: npm start`);
    });
    const { errors } = Reply.parse(await response.json());
    if (errors?.[0] !== undefined) throw new UsageError(`The gateway refused a record: ${errors[0].message}`);
  };
}
