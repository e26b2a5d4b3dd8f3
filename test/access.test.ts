import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { routes } from '../rest/router.ts';
import { graphql, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { operations } from './support/openapi.ts';
import { documentOf, goodArguments, isSubscription, rootFields } from './support/root-fields.ts';
import { subscribe } from './support/sse.ts';
import { signToken } from './support/tokens.ts';

const scopes = [
  'account:read',
  'account:write',
  'platform:write',
  'platform:read',
  'platform:credentials',
] as const;
const [read, write, platformWrite, platformRead, credentials] = scopes;

/** What opens a root field: no scope claim at all (the full account), or a scope alone; and membership besides. */
type Access = { opens: readonly string[]; member: boolean };
const reading: Access = { opens: ['the full account', read, write], member: false };
const writing: Access = { opens: ['the full account', write], member: false };

const access: Readonly<Record<string, Access>> = {
  notification: reading,
  notificationCounts: reading,
  notificationEvents: reading,
  notifications: reading,
  workspaceEvents: reading,
  workspaces: reading,
  dismissNotification: writing,
  dismissNotifications: writing,
  editorAuth: { ...reading, member: true },
  editorAuthEvents: { ...reading, member: true },
  notificationPreferences: { ...reading, member: true },
  deleteEditorAuth: { ...writing, member: true },
  storeEditorSubscription: { ...writing, member: true },
  updateNotificationPreferences: { ...writing, member: true },
  deleteUser: { opens: [platformWrite], member: false },
  deleteWorkspace: { opens: [platformWrite], member: false },
  publishNotification: { opens: [platformWrite], member: false },
  putWorkspaces: { opens: [platformWrite], member: false },
  reportEditorAuthFailure: { opens: [platformWrite], member: false },
  publishNotifications: { opens: [platformWrite], member: false },
  resolveNotifications: { opens: [platformWrite], member: false },
  editorCredential: { opens: [credentials], member: false },
  refreshEditorCredential: { opens: [credentials], member: false },
  claimEditorCredentialRefresh: { opens: [credentials], member: false },
  statistics: { opens: [platformRead], member: false },
  users: { opens: [platformRead], member: false },
};

/** What a token may name in `scope`, with the claim. */
const grants: Readonly<Record<string, object>> = {
  'the full account': {},
  ...Object.fromEntries(scopes.map((scope) => [scope, { scope }])),
  'no scope at all': { scope: '' },
  'an unknown scope': { scope: 'account account:admin ACCOUNT:READ account:readx' },
};

const kinds = Object.keys(grants).flatMap((grant) =>
  [true, false].map((isMember) => ({
    grant,
    isMember,
    who: isMember ? 'a member' : 'somebody without membership',
  })),
);
const fields = Object.keys(access);
const cases = fields.flatMap((field) => kinds.map((kind) => ({ field, ...kind })));
const restCases = routes.flatMap(({ method, path, field }) =>
  kinds.map((kind) => ({ method, path, field, ...kind })),
);

/** The refusal that a caller is due; undefined where there is none. A missing scope comes first. */
function refusalOf(field: string, { grant, isMember }: { grant: string; isMember: boolean }) {
  if (!access[field]?.opens.includes(grant)) return 'FORBIDDEN';
  return access[field]?.member && !isMember ? 'ORG_MEMBERSHIP_REQUIRED' : undefined;
}

const tokenOf = ({ grant, isMember }: { grant: string; isMember: boolean }) =>
  signToken({ sub: 'alice', ...grants[grant], ...(isMember && { org_id: 'acme' }) });

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

test('this table and the table of good arguments have a row for every root field of the schema', () => {
  const names = Object.keys(rootFields).sort();

  expect(fields.toSorted()).toEqual(names);
  expect(Object.keys(goodArguments).sort()).toEqual(names);
});

test.each(fields)('the descriptions of %s name the scope and the membership that it requires', (field) => {
  const { description, args } = rootFields[field] ?? {};
  const inRest = operations.find(({ operation }) => operation.operationId === field)?.operation.description;
  const { opens, member } = access[field] ?? reading;
  const scope = opens.find((grant) => grant !== 'the full account');
  const readsOthers = args?.some(({ name }) => name === 'userId') && scope === read;
  const other = readsOthers ? `, or \`${platformRead}\` if \`userId\` names another user` : '';
  const membership = member ? ' Requires membership in an organization.' : '';

  expect(description?.split('\n\n').at(-1)).toBe(`Requires the scope \`${scope}\`${other}.${membership}`);
  if (inRest !== undefined) expect(inRest).toContain(`Requires the scope \`${scope}\`.${membership}`);
});

test.each(fields)('%s without a token is a 401 without data', async (field) => {
  const given = goodArguments[field]?.('alice') ?? {};

  const { status, text } = await graphql(gateway, documentOf(field, given), given);

  expect(status).toBe(401);
  expect(JSON.parse(text)).not.toHaveProperty('data');
});

test.each(cases)('$field for $who with $grant is opened or refused as the table says', async (row) => {
  const given = goodArguments[row.field]?.('alice') ?? {};

  const call = isSubscription(row.field) ? subscribe : graphql;
  const reply = await call(gateway, documentOf(row.field, given), given, { token: await tokenOf(row) });

  const [error] = reply.errors;
  const isRefusal = ['FORBIDDEN', 'ORG_MEMBERSHIP_REQUIRED'].includes(error?.extensions.code);
  expect(isRefusal ? error.extensions.code : undefined).toBe(refusalOf(row.field, row));
  if ('stream' in reply) {
    expect([reply.status, reply.stream !== undefined]).toEqual(isRefusal ? [403, false] : [200, true]);
    reply.stream?.close();
  }
});

describe('REST', () => {
  test.each(routes)('$method $path without a token is a 401', async ({ method, path }) => {
    const { status } = await rest(gateway, method.toUpperCase(), path.replace('{id}', 'unknown'));

    expect(status).toBe(401);
  });

  test.each(restCases)('$method $path for $who with $grant is opened or refused alike', async (row) => {
    const token = await tokenOf(row);
    const path = row.path.replace('{id}', 'unknown');

    const { status, body, headers } = await rest(gateway, row.method.toUpperCase(), path, { token });

    const refusal = refusalOf(row.field, row);
    if (refusal === undefined) expect(status).not.toBe(403);
    else expect([status, body.code]).toEqual([403, refusal.toLowerCase()]);
    expect(headers.get('www-authenticate')).toBe(
      refusal === 'FORBIDDEN' ? 'Bearer error="insufficient_scope"' : null,
    );
  });
});
