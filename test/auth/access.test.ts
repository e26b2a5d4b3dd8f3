import SchemaBuilder from '@pothos/core';
import { describe, expect, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import type { Access as DeclaredAccess } from '../../src/auth/access.ts';
import { valueAt } from '../../src/errors/issue.ts';
import { rootFieldPlugin } from '../../src/graphql/builder-plugins.ts';
import { graphql, rest } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { operations } from '../support/openapi.ts';
import { buildDocument, goodArguments, isSubscription, rootFields } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { signToken, TASK_CLAIMS } from '../support/tokens.ts';

const scopes = [
  'account:read',
  'account:write',
  'platform:write',
  'platform:notifications',
  'platform:workspaces',
  'platform:contacts',
  'platform:admin',
  'platform:read',
  'platform:credentials',
  'platform:task',
] as const;
const [
  read,
  write,
  platformWrite,
  notifications,
  workspaces,
  contacts,
  admin,
  platformRead,
  credentials,
  task,
] = scopes;

/** The grants that allow a root field (no scope claim, or sign-in scopes only, grants the full account), and whether membership is required. */
type Access = { grants: readonly string[]; member: boolean };
const allow = (...grants: string[]): Access => ({ grants, member: false });
const fullAccount = ['the full account', 'the full account, by sign-in scopes'];
const reading = allow(...fullAccount, read, write);
const writing = allow(...fullAccount, write);
const changing = (scope: string) => allow(scope, platformWrite);
const ofTask = ({ grants }: Access) => allow(...grants, task);
const ofMember = ({ grants }: Access) => ({ grants, member: true });

const access: Readonly<Record<string, Access>> = {
  contact: reading,
  deliveries: reading,
  notification: reading,
  notificationCounts: reading,
  notificationEvents: reading,
  notifications: reading,
  workspaceEvents: reading,
  accountEvents: reading,
  pushPublicKey: reading,
  pushSubscriptions: reading,
  workspaces: reading,
  viewer: reading,
  answerNotification: writing,
  dismissNotification: writing,
  dismissNotifications: writing,
  registerPushSubscription: writing,
  removePushSubscription: writing,
  restoreNotification: writing,
  restoreNotifications: writing,
  editorAuth: ofMember(reading),
  editorAuthEvents: ofMember(reading),
  notificationPreferences: ofMember(reading),
  deleteEditorAuth: ofMember(writing),
  storeEditorSubscription: ofMember(writing),
  updateNotificationPreferences: ofMember(writing),
  acknowledgeAnswer: ofTask(changing(notifications)),
  request: ofTask(allow(notifications, platformWrite, platformRead)),
  deleteUser: changing(admin),
  deleteWorkspace: changing(workspaces),
  putContact: changing(contacts),
  publishNotification: ofTask(changing(notifications)),
  putWorkspaces: changing(workspaces),
  publishNotifications: changing(notifications),
  resolveNotifications: ofTask(changing(notifications)),
  retryDeliveries: changing(admin),
  reportEditorAuthFailure: allow(credentials),
  editorCredential: allow(credentials),
  refreshEditorCredential: allow(credentials),
  claimEditorCredentialRefresh: allow(credentials),
  user: allow(platformRead),
  platform: allow(platformRead),
  platformEvents: allow(platformRead),
  'subscription platformEvents': allow(platformRead),
  latestPlatformCursor: allow(platformRead),
};

/** The claims of a token for each grant. */
const claimsByGrant: Readonly<Record<string, object>> = {
  'the full account': {},
  'the full account, by sign-in scopes': { scope: 'openid profile email' },
  ...Object.fromEntries(scopes.map((scope) => [scope, { scope }])),
  'an empty scope': { scope: '' },
  'an empty array of scopes': { scp: [] },
  'sign-in scopes and one of another API': { scope: 'openid orders:read' },
  'an unknown scope': { scope: 'account account:admin ACCOUNT:READ account:readx' },
};

const kinds = Object.keys(claimsByGrant).flatMap((grant) =>
  [true, false].map((isMember) => ({
    grant,
    isMember,
    who: isMember ? 'a member' : 'a non-member',
  })),
);
const fields = Object.keys(access);
const cases = fields.flatMap((field) => kinds.map((kind) => ({ field, ...kind })));
const restCases = routes.flatMap(({ method, path, field }) =>
  kinds.map((kind) => ({ method, path, field, ...kind })),
);

/** Returns the expected error code, if any. A missing scope is reported before missing membership. */
function expectedError(field: string, { grant, isMember }: { grant: string; isMember: boolean }) {
  if (!access[field]?.grants.includes(grant)) return 'FORBIDDEN';
  return access[field]?.member && !isMember ? 'ORG_MEMBERSHIP_REQUIRED' : undefined;
}

/** Signs a token for a grant. A task token is one for the user and the task that the arguments name, if they do. */
const signTokenFor = ({ grant, isMember }: { grant: string; isMember: boolean }, given: object = {}) =>
  signToken({
    sub: 'alice',
    ...claimsByGrant[grant],
    ...(isMember && { org_id: 'acme' }),
    ...(grant === task && {
      [TASK_CLAIMS.user]: 'alice',
      [TASK_CLAIMS.task]: valueAt(given, ['input', 'task', 'id']) ?? 'task-1',
    }),
  });

const gateway = useGateway();

test('the access table and the table of valid arguments cover every root field', () => {
  const names = Object.keys(rootFields).sort();

  expect(fields.toSorted()).toEqual(names);
  expect(Object.keys(goodArguments).sort()).toEqual(names);
});

test('a schema with a root field that declares no access cannot be built', () => {
  const nothing: { access: DeclaredAccess } = JSON.parse('{}');
  const builder = new SchemaBuilder({ plugins: [rootFieldPlugin] });
  builder.queryType({ fields: (t) => ({ open: t.boolean({ ...nothing, resolve: () => true }) }) });

  expect(() => builder.toSchema()).toThrow('The field "open" declares no access.');
});

test.each(['User', 'Platform'])(
  'a schema with a field of %s that declares no access cannot be built',
  (name) => {
    const builder = new SchemaBuilder({ plugins: [rootFieldPlugin] });
    builder.objectType(builder.objectRef<object>(name), {
      name,
      fields: (t) => ({ id: t.string({ resolve: () => '' }), open: t.boolean({ resolve: () => true }) }),
    });

    expect(() => builder.toSchema()).toThrow('The field "open" declares no access.');
  },
);

test.each(fields)('the descriptions of %s state the scope and membership that it requires', (field) => {
  const { description, args } = rootFields[field] ?? {};
  const inRest = operations.find(({ operation }) => operation.operationId === field)?.operation.description;
  const { grants, member } = access[field] ?? reading;
  const scope = grants.find((grant) => !fullAccount.includes(grant));
  const broader = grants.includes(platformWrite) ? ', which `platform:write` includes' : '';
  const readsOthers = args?.some(({ name }) => name === 'userId') && scope === read;
  const other = readsOthers ? `, or \`${platformRead}\` if \`userId\` names another user` : '';
  const alternative =
    grants.includes(platformRead) && scope !== platformRead ? `, or \`${platformRead}\`` : '';
  const forTask = grants.includes(task) ? `, or \`${task}\` for the token's task` : '';
  const membership = member ? ' Requires membership in an organization.' : '';

  expect(description?.split('\n\n').at(-1)).toBe(
    `Requires the scope \`${scope}\`${broader}${other}${alternative}${forTask}.${membership}`,
  );
  if (inRest !== undefined) expect(inRest).toContain(`Requires the scope \`${scope}\`.${membership}`);
});

test.each(fields)('%s returns 401 without data if the token is missing', async (field) => {
  const given = goodArguments[field]?.('alice') ?? {};
  const { status, data } = await graphql(gateway, buildDocument(field, given), given);
  expect([status, data]).toEqual([401, undefined]);
});

test.each(cases)('$field checks scope and membership: $who with $grant', async (row) => {
  const given = goodArguments[row.field]?.('alice') ?? {};

  const call = isSubscription(row.field) ? subscribe : graphql;
  const reply = await call(gateway, buildDocument(row.field, given), given, {
    token: await signTokenFor(row, given),
  });

  const [error] = reply.errors;
  const isRefusal = ['FORBIDDEN', 'ORG_MEMBERSHIP_REQUIRED'].includes(error?.extensions.code);
  expect(isRefusal ? error.extensions.code : undefined).toBe(expectedError(row.field, row));
  if ('stream' in reply) {
    expect([reply.status, reply.stream !== undefined]).toEqual(isRefusal ? [403, false] : [200, true]);
    reply.stream?.close();
  }
});

describe('REST', () => {
  test.each(routes)('$method $path returns 401 without a token', async ({ method, path }) => {
    const { status } = await rest(gateway, method.toUpperCase(), path.replace('{id}', 'unknown'));

    expect(status).toBe(401);
  });

  test.each(restCases)(
    '$method $path checks scope and membership like its root field: $who with $grant',
    async (row) => {
      const token = await signTokenFor(row);
      const path = row.path.replace('{id}', 'unknown');

      const { status, body, headers } = await rest(gateway, row.method.toUpperCase(), path, { token });

      const refusal = expectedError(row.field, row);
      if (refusal === undefined) expect(status).not.toBe(403);
      else expect([status, body.code]).toEqual([403, refusal.toLowerCase()]);
      expect(headers.get('www-authenticate')).toBe(
        refusal === 'FORBIDDEN' ? 'Bearer error="insufficient_scope"' : null,
      );
    },
  );
});
