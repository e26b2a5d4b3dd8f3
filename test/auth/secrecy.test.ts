import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GraphQLReply, RestReply } from '../support/client.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { credentialVersion, workspaceInput } from '../support/records.ts';
import { platform } from '../support/tokens.ts';

const ACCESS = 'ACCESS-token-0123456789';
const REFRESH = 'REFRESH-token-0123456789';
const PREVIEW = 'PREVIEW-token-0123456789';
const pair = { accessToken: ACCESS, refreshToken: REFRESH };
const workspaces = () => [workspaceInput({ previewToken: PREVIEW })];

const operation = (field: string, type: string, selection: string) =>
  `mutation ($input: ${type}!) { ${field}(input: $input) { ${selection} } }`;
const STORE = operation('storeEditorSubscription', 'StoreEditorSubscriptionInput', '__typename');
const REFRESHED = operation('refreshEditorCredential', 'RefreshEditorCredentialInput', 'version');
const REPORT = operation('reportEditorAuthFailure', 'ReportEditorAuthFailureInput', 'applied');
const PUT = operation('putWorkspaces', 'PutWorkspacesInput', 'workspaces { id }');
const CREDENTIAL = '{ editorCredential(userId: "alice") { version accessToken refreshToken } }';

/** Returns a token as plain text and in common encodings. */
const encodeForms = (token: string) => [
  token,
  Buffer.from(token).toString('hex'),
  ...['', 'x', 'xx'].map((before) =>
    Buffer.from(before + token)
      .toString('base64url')
      .slice(4, -4),
  ),
];
const credentialForms = [ACCESS, REFRESH].flatMap(encodeForms);
const previewForms = encodeForms(PREVIEW);
const findForms = (text: string, forms: readonly string[]) => forms.filter((form) => text.includes(form));

const owner = useGateway();
let proxy: TestProxy;
let gateway: TestGateway;
const replies: string[] = [];
const credentialReplies: string[] = [];
const workspaceReplies: string[] = [];
let stored = '';

/** Keeps the text of a reply, and returns its status. */
async function keep(sent: Promise<RestReply | GraphQLReply>, target = replies): Promise<number> {
  const { text, status } = await sent;
  target.push(text);
  return status;
}
const as = (userId: string) => gateway.as(userId);
const storePair = (body: unknown) => keep(as('alice').rest.put('/editor/auth/subscription', body));
const query = (document: string, input?: object) => keep(as('alice').graphql(document, { input }));
/** Sends an input about Alice as the platform. */
const send = (document: string, input?: object) =>
  keep(gateway.as(platform).graphql(document, { input: { userId: 'alice', ...input } }));

/** Runs every operation that handles a token, and some that do not. */
async function runOperations(): Promise<void> {
  await storePair(pair);
  await keep(as('alice').rest.get('/editor/auth'));
  await query(STORE, pair);
  await query('{ editorAuth { needsReauth reauthReason } }');
  await keep(gateway.as(platform).graphql(CREDENTIAL), credentialReplies);
  await send(REFRESHED, { version: await credentialVersion(gateway, 'alice'), ...pair });
  await send(REFRESHED, { version: '1', accessToken: REFRESH, refreshToken: ACCESS });
  await send(REPORT, { version: await credentialVersion(gateway, 'alice'), reason: 'TOKEN_REVOKED' });
  await query(CREDENTIAL);
  await send('{ platform { statistics { editorCredentials { count } } editorCredentials { totalCount } } }');
  await send(PUT, { workspaces: workspaces() });
  await keep(as('alice').rest.get('/user/workspaces'), workspaceReplies);
  await keep(as('alice').graphql('{ workspaces { nodes { previewToken } } }'), workspaceReplies);
  await query('{ workspaces { nodes { id gitRef } } }');
}

/** Sends invalid inputs of every kind, with tokens in them. */
async function sendInvalidInputs(): Promise<void> {
  for (const body of [ACCESS, { ...pair, accessToken: [ACCESS] }, { accessToken: ACCESS, extra: REFRESH }]) {
    expect(await storePair(body)).toBe(422);
    await query(STORE, Object(body));
    await send(REFRESHED, { version: PREVIEW, ...Object(body) });
  }
  const stranger = gateway.as(async () => ACCESS);
  expect(await keep(stranger.rest.get(`/user/workspaces?limit=1&token=${ACCESS}`))).toBe(401);
  await query(`{ workspaces(first: "${ACCESS}") { ${ACCESS} }`);
  for (const given of [{ status: PREVIEW }, { hardware: PREVIEW }, { gitRef: 5 }, { unknown: PREVIEW }])
    await send(PUT, { workspaces: [workspaceInput({ previewToken: PREVIEW, ...given })] });
}

/** Runs everything that writes a token while the database is unavailable, and expects internal errors. */
async function expectFailures(): Promise<void> {
  expect(await storePair(pair)).toBe(500);
  expect(await query(STORE, pair)).toBe(500);
  expect(await send(CREDENTIAL)).toBe(500);
  expect(await send(REFRESHED, { version: '3', ...pair })).toBe(500);
  expect(await send(PUT, { workspaces: workspaces() })).toBe(500);
}

beforeAll(async () => {
  const url = new URL(owner.database.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  const environment = { LOG_LEVEL: 'trace', DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: '5000' };
  gateway = await startTestGateway(environment, owner.database);

  await runOperations();
  await sendInvalidInputs();
  const { sql } = owner.database;
  for (const { tablename } of await sql(`select tablename from pg_tables where schemaname = 'public'`)) {
    stored += `${JSON.stringify(await sql(`select '${tablename}' as of, t::text as row from "${tablename}" t`))}\n`;
  }
  await proxy.setState('refuse');
  await expectFailures();
  await proxy.setState('open');
  // PostgreSQL includes whole rows in such errors.
  await sql(`alter table workspace add check (length(preview_token) < 3) not valid`);
  await sql(`alter table editor_credential add check (key_id = 'none') not valid`);
  expect(await storePair(pair)).toBe(500);
  expect(await send(PUT, { workspaces: workspaces() })).toBe(500);
  await sql('alter table editor_credential rename to renamed_credential');
  await sql('alter table workspace rename to renamed_workspace');
  await expectFailures();
  await sql('alter table renamed_credential rename to editor_credential');
  await query('mutation { deleteEditorAuth { editorAuth { needsReauth } } }');
  await keep(as('alice').rest.delete('/editor/auth'));
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
});

describe('after every operation, invalid input, outage and internal error', () => {
  test("only replies of editorCredential contain the credential's tokens", () => {
    expect(findForms(credentialReplies.join(), [ACCESS, REFRESH])).toEqual([ACCESS, REFRESH]);
    expect(replies.length).toBeGreaterThan(30);
    expect(findForms([...replies, ...workspaceReplies].join(), credentialForms)).toEqual([]);
  });

  test("only the owner's workspace lists contain the preview token", () => {
    for (const text of workspaceReplies) expect(text).toContain(PREVIEW);
    expect(findForms(replies.join(), previewForms)).toEqual([]);
  });

  test("no table contains the credential's tokens, and only its own column the preview token", () => {
    const tables = stored.trim().split('\n');
    expect(stored).toMatch(/"row":"\(alice,[\da-f-]{36},eyJ/);
    expect(findForms(stored, credentialForms)).toEqual([]);
    expect(tables.filter((text) => findForms(text, previewForms).length > 0)).toHaveLength(1);
    expect(stored.split(PREVIEW)).toHaveLength(2);
  });

  test('no log line contains a token, although internal errors are logged', () => {
    const lines = gateway.logLines();
    expect(lines.filter((line) => line.includes('internal error')).length).toBeGreaterThan(10);
    expect(findForms(lines.join('\n'), [...credentialForms, ...previewForms])).toEqual([]);
  });
});
