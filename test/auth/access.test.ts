import SchemaBuilder from '@pothos/core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { routes } from '../../rest/router.ts';
import { valueAt } from '../../src/errors/issue.ts';
import { rootFieldPlugin } from '../../src/graphql/builder-plugins.ts';
import { graphql, rest } from '../support/client.ts';
import { startTestGateway, useGateway } from '../support/gateway.ts';
import { operations } from '../support/openapi.ts';
import { buildDocument, goodArguments, isSubscription, rootFields } from '../support/root-fields.ts';
import { subscribe } from '../support/sse.ts';
import { signToken, TASK_CLAIMS } from '../support/tokens.ts';

const scope = {
  read: 'account:read',
  write: 'account:write',
  platformWrite: 'platform:write',
  notifications: 'platform:notifications',
  workspaces: 'platform:workspaces',
  contacts: 'platform:contacts',
  admin: 'platform:admin',
  platformRead: 'platform:read',
  credentials: 'platform:credentials',
  task: 'platform:task',
};

/** The grants that allow a root field (no scope claim, or sign-in scopes only, grants the full account), and whether membership is required. */
type Access = { grants: readonly string[]; member: boolean };
const allow = (...grants: string[]): Access => ({ grants, member: false });
const fullAccount = ['the full account', 'the full account, by sign-in scopes'];
const reading = allow(...fullAccount, scope.read, scope.write);
const writing = allow(...fullAccount, scope.write);
const changing = (narrow: string) => allow(narrow, scope.platformWrite);
const ofTask = ({ grants }: Access) => allow(...grants, scope.task);
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
  acknowledgeAnswer: ofTask(changing(scope.notifications)),
  request: ofTask(allow(scope.notifications, scope.platformWrite, scope.platformRead)),
  deleteUser: changing(scope.admin),
  deleteWorkspace: changing(scope.workspaces),
  putContact: changing(scope.contacts),
  publishNotification: ofTask(changing(scope.notifications)),
  putWorkspaces: changing(scope.workspaces),
  publishNotifications: changing(scope.notifications),
  resolveNotifications: ofTask(changing(scope.notifications)),
  retryDeliveries: changing(scope.admin),
  reportEditorAuthFailure: allow(scope.credentials),
  editorCredential: allow(scope.credentials),
  refreshEditorCredential: allow(scope.credentials),
  claimEditorCredentialRefresh: allow(scope.credentials),
  user: allow(scope.platformRead),
  platform: allow(scope.platformRead),
  platformEvents: allow(scope.platformRead),
  'subscription platformEvents': allow(scope.platformRead),
  latestPlatformCursor: allow(scope.platformRead),
};

/** The claims of a token for each grant. */
const claimsByGrant: Readonly<Record<string, object>> = {
  'the full account': {},
  'the full account, by sign-in scopes': { scope: 'openid profile email' },
  ...Object.fromEntries(Object.values(scope).map((name) => [name, { scope: name }])),
  'an empty scope': { scope: '' },
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
    ...(grant === scope.task && {
      [TASK_CLAIMS.user]: 'alice',
      [TASK_CLAIMS.task]: valueAt(given, ['input', 'task', 'id']) ?? 'task-1',
    }),
  });

const gateway = useGateway();

test('the access table covers every root field', () => {
  expect(fields.toSorted()).toEqual(Object.keys(rootFields).sort());
});

test.each(['User', 'Platform'])('the gateway does not start if a field of %s declares no access', (name) => {
  const builder = new SchemaBuilder({ plugins: [rootFieldPlugin] });
  builder.objectType(builder.objectRef<object>(name), {
    name,
    fields: (t) => ({ open: t.boolean({ resolve: () => true }) }),
  });
  expect(() => builder.toSchema()).toThrow('The field "open" declares no access.');
});

test.each(fields)('the descriptions of %s state the scope and membership that it requires', (field) => {
  const { grants, member } = access[field] ?? reading;
  const required = grants.find((grant) => !fullAccount.includes(grant)) ?? '';
  const readsOthers =
    rootFields[field]?.args.some(({ name }) => name === 'userId') && required === scope.read;
  const parts = [
    `Requires the scope \`${required}\``,
    grants.includes(scope.platformWrite) && ', which `platform:write` includes',
    readsOthers && ', or `platform:read` if `userId` names another user',
    grants.includes(scope.platformRead) && required !== scope.platformRead && ', or `platform:read`',
    grants.includes(scope.task) && ", or `platform:task` for the token's task",
    '.',
    member && ' Requires membership in an organization.',
  ];
  const paragraphs = rootFields[field]?.description?.split('\n\n');
  expect(paragraphs?.at(-1)).toBe(parts.filter(Boolean).join(''));
  const inRest = operations.find(({ operation }) => operation.operationId === field)?.operation.description;
  if (inRest !== undefined) expect(inRest).toContain(`${parts[0]}.${parts.at(-1) || ''}`);
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

const withClaims = (claims: object, { as } = gateway) => as(() => signToken({ sub: 'alice', ...claims }));

test.each([
  ['a string', 'acme'],
  ['an array with several strings', ['acme', 'initech']],
])('accepts an organization claim that is %s', async (_what, org_id) => {
  expect((await withClaims({ org_id }).rest.get('/editor/auth')).status).toBe(200);
});

test.each([
  ['is an empty string', ''],
  ['is an empty array', []],
  ['contains an empty string', ['acme', '']],
  ['is an array of numbers', [1]],
  ['is a number', 1],
  ['is an object', { id: 'acme' }],
  ['is missing', null],
])('returns 403 with org_membership_required for an organization claim that %s', async (_what, org_id) => {
  const { status, body } = await withClaims({ org_id }).rest.get('/editor/auth');
  const error = 'This operation requires membership in an organization.';
  expect([status, body]).toEqual([403, { error, code: 'org_membership_required' }]);
  const { errors } = await withClaims({ org_id }).graphql('{ editorAuth { needsReauth } }');
  expect(errors).toMatchObject([{ path: ['editorAuth'], extensions: { code: 'ORG_MEMBERSHIP_REQUIRED' } }]);
});

test('AUTH_ORG_CLAIM sets the name of the organization claim', async () => {
  const renamed = await startTestGateway({ AUTH_ORG_CLAIM: 'https://acme.test/org' }, gateway.database);
  onTestFinished(() => renamed.close());
  const other = { 'https://acme.test/org': 'acme' };
  const callers = [withClaims(other, renamed), withClaims({ org_id: 'acme' }, renamed), withClaims(other)];
  const replies = await Promise.all(callers.map((caller) => caller.rest.get('/editor/auth')));
  expect(replies.map(({ status }) => status)).toEqual([200, 403, 403]);
});

test('reports the missing scope if scope and membership are both missing', async () => {
  const { body } = await withClaims({ scope: 'account:read' }).rest.delete('/editor/auth');
  expect(body.code).toBe('forbidden');
});
