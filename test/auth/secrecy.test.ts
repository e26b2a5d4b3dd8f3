import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql, type RestRequest, rest } from '../support/client.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { startProxy, type TestProxy } from '../support/proxy.ts';
import { credentialVersion, workspaceInput } from '../support/records.ts';
import { member, platform } from '../support/tokens.ts';

const ACCESS = 'ACCESS-token-0123456789';
const REFRESH = 'REFRESH-token-0123456789';
const PREVIEW = 'PREVIEW-token-0123456789';
const pair = { accessToken: ACCESS, refreshToken: REFRESH };
const CREDENTIAL = 'query ($id: ID!) { editorCredential(userId: $id) { version accessToken refreshToken } }';
const STORE =
  'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { editorAuth { needsReauth } } }';
const REFRESHED =
  'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }';
const REPORT =
  'mutation ($input: ReportEditorAuthFailureInput!) { reportEditorAuthFailure(input: $input) { applied } }';
const DELETE = 'mutation { deleteEditorAuth { editorAuth { needsReauth } } }';
const PUT = 'mutation ($input: PutWorkspacesInput!) { putWorkspaces(input: $input) { workspaces { id } } }';

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

let proxy: TestProxy;
let owner: TestGateway;
let gateway: TestGateway;
const replies: string[] = [];
const credentialReplies: string[] = [];
const workspaceReplies: string[] = [];
let stored = '';
let alice: { token: string };
let service: { token: string };

const sendRest = async (method: string, path: string, request: RestRequest = {}) => {
  const { text, status } = await rest(gateway, method, path, { ...alice, ...request });
  replies.push(text);
  return status;
};
const sendGraphQL = async (document: string, variables: object, by = alice, target = replies) => {
  const { text, status } = await graphql(gateway, document, { ...variables }, by);
  target.push(text);
  return status;
};
const storePair = (body: unknown) => sendRest('PUT', '/editor/auth/subscription', { body });

/** Runs every operation that handles a token, and some that do not. */
async function runOperations(): Promise<void> {
  await storePair(pair);
  await sendRest('GET', '/editor/auth');
  await sendGraphQL(STORE, { input: pair });
  await sendGraphQL('{ editorAuth { needsReauth reauthReason } }', {});
  await sendGraphQL(CREDENTIAL, { id: 'alice' }, service, credentialReplies);
  const version = await credentialVersion(gateway, 'alice');
  await sendGraphQL(REFRESHED, { input: { userId: 'alice', version, ...pair } }, service);
  const other = { userId: 'alice', version: '1', accessToken: REFRESH, refreshToken: ACCESS };
  await sendGraphQL(REFRESHED, { input: other }, service);
  const reported = await credentialVersion(gateway, 'alice');
  await sendGraphQL(
    REPORT,
    { input: { userId: 'alice', version: reported, reason: 'TOKEN_REVOKED' } },
    service,
  );
  await sendGraphQL(CREDENTIAL, { id: 'alice' });
  await sendGraphQL(
    '{ platform { statistics { editorCredentials { state count } } editorCredentials { nodes { userId state } } } }',
    {},
    service,
  );
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  await sendGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service);
  const listed = await rest(gateway, 'GET', '/user/workspaces', alice);
  workspaceReplies.push(listed.text);
  await sendGraphQL('{ workspaces { nodes { previewToken } } }', {}, alice, workspaceReplies);
  await sendGraphQL('{ workspaces { nodes { id gitRef } } }', {});
}

/** Sends invalid inputs of every kind, with tokens in them. */
async function sendInvalidInputs(): Promise<void> {
  const bodies = [
    ACCESS,
    [pair],
    { ...pair, accessToken: [ACCESS] },
    { accessToken: ACCESS, extra: REFRESH },
  ];
  for (const body of [...bodies, { ...pair, accessToken: `${ACCESS} ` }]) {
    expect(await storePair(body)).toBe(422);
    await sendGraphQL(STORE, { input: body });
    await sendGraphQL(REFRESHED, { input: { userId: 'alice', version: PREVIEW, ...Object(body) } }, service);
  }
  const raw = { raw: `{"accessToken":"${ACCESS}`, headers: { 'Content-Type': 'application/json' } };
  expect(await sendRest('PUT', '/editor/auth/subscription', raw)).toBe(400);
  expect(await sendRest('GET', `/user/workspaces?limit=1&token=${ACCESS}`, { token: ACCESS })).toBe(401);
  await sendGraphQL(`mutation { storeEditorSubscription(input: { accessToken: "${ACCESS}" }) { x } }`, {});
  await sendGraphQL(`{ workspaces(first: "${ACCESS}") { ${ACCESS} }`, {});
  for (const given of [{ status: PREVIEW }, { hardware: PREVIEW }, { gitRef: 5 }, { unknown: PREVIEW }]) {
    const workspaces = [workspaceInput({ previewToken: PREVIEW, ...given })];
    await sendGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service);
  }
}

/** Runs everything that writes a token while the database is unavailable, and expects internal errors. */
async function expectFailures(): Promise<void> {
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  expect(await storePair(pair)).toBe(500);
  expect(await sendGraphQL(STORE, { input: pair })).toBe(500);
  expect(await sendGraphQL(CREDENTIAL, { id: 'alice' }, service)).toBe(500);
  const refreshed = { userId: 'alice', version: '3', ...pair };
  expect(await sendGraphQL(REFRESHED, { input: refreshed }, service)).toBe(500);
  expect(await sendGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service)).toBe(500);
}

beforeAll(async () => {
  owner = await startTestGateway();
  const url = new URL(owner.database.url);
  proxy = await startProxy(Number(url.port));
  url.port = String(proxy.port);
  const environment = { LOG_LEVEL: 'trace', DATABASE_URL: url.href, DATABASE_TIMEOUT_MS: '1000' };
  gateway = await startTestGateway(environment, owner.database);
  alice = { token: await member('alice') };
  service = { token: await platform() };

  await runOperations();
  await sendInvalidInputs();
  const tables = await owner.database.sql(`select tablename from pg_tables where schemaname = 'public'`);
  for (const { tablename } of tables) {
    const rows = await owner.database.sql(
      `select '${tablename}' as of, t::text as row from "${tablename}" t`,
    );
    stored += `${JSON.stringify(rows)}\n`;
  }
  await proxy.setState('refuse');
  await expectFailures();
  await proxy.setState('open');
  // PostgreSQL includes whole rows in such errors.
  await owner.database.sql(`alter table workspace add check (length(preview_token) < 3) not valid`);
  await owner.database.sql(`alter table editor_credential add check (key_id = 'none') not valid`);
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  expect(await storePair(pair)).toBe(500);
  expect(await sendGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service)).toBe(500);
  await owner.database.sql('alter table editor_credential rename to renamed_credential');
  await owner.database.sql('alter table workspace rename to renamed_workspace');
  await expectFailures();
  await owner.database.sql('alter table renamed_credential rename to editor_credential');
  await sendGraphQL(DELETE, {});
  await sendRest('DELETE', '/editor/auth');
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await owner.close();
});

describe('after every operation, invalid input, outage and internal error', () => {
  test("only replies of editorCredential contain the credential's tokens", () => {
    expect(findForms(credentialReplies.join(), [ACCESS, REFRESH])).toEqual([ACCESS, REFRESH]);
    expect(replies.length).toBeGreaterThan(40);
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
    expect(lines.filter((line) => findForms(line, [...credentialForms, ...previewForms]).length > 0)).toEqual(
      [],
    );
  });
});
