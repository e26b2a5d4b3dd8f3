import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { graphql, type RestRequest, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { startProxy, type TestProxy } from './support/proxy.ts';
import { credentialVersion, workspaceInput } from './support/records.ts';
import { member, platform } from './support/tokens.ts';

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

/** A token as it is, and as it would look in the encodings that are at hand. */
const formsOf = (token: string) => [
  token,
  Buffer.from(token).toString('hex'),
  ...['', 'x', 'xx'].map((before) =>
    Buffer.from(before + token)
      .toString('base64url')
      .slice(4, -4),
  ),
];
const credentialForms = [ACCESS, REFRESH].flatMap(formsOf);
const previewForms = formsOf(PREVIEW);
const found = (text: string, forms: readonly string[]) => forms.filter((form) => text.includes(form));

let proxy: TestProxy;
let owner: TestGateway;
let gateway: TestGateway;
const replies: string[] = [];
const mayTellPair: string[] = [];
const mayTellPreview: string[] = [];
let stored = '';
let alice: { token: string };
let service: { token: string };

const overRest = async (method: string, path: string, request: RestRequest = {}) => {
  const { text, status } = await rest(gateway, method, path, { ...alice, ...request });
  replies.push(text);
  return status;
};
const overGraphQL = async (document: string, variables: object, by = alice, kept = replies) => {
  const { text, status } = await graphql(gateway, document, { ...variables }, by);
  kept.push(text);
  return status;
};
const storePair = (body: unknown) => overRest('PUT', '/editor/auth/subscription', { body });

/** Every operation that a token goes through, and those beside it. */
async function everyOperation(): Promise<void> {
  await storePair(pair);
  await overRest('GET', '/editor/auth');
  await overGraphQL(STORE, { input: pair });
  await overGraphQL('{ editorAuth { needsReauth reauthReason } }', {});
  await overGraphQL(CREDENTIAL, { id: 'alice' }, service, mayTellPair);
  const version = await credentialVersion(gateway, 'alice');
  await overGraphQL(REFRESHED, { input: { userId: 'alice', version, ...pair } }, service);
  const other = { userId: 'alice', version: '1', accessToken: REFRESH, refreshToken: ACCESS };
  await overGraphQL(REFRESHED, { input: other }, service);
  const reported = await credentialVersion(gateway, 'alice');
  await overGraphQL(
    REPORT,
    { input: { userId: 'alice', version: reported, reason: 'TOKEN_REVOKED' } },
    service,
  );
  await overGraphQL(CREDENTIAL, { id: 'alice' });
  await overGraphQL('{ statistics { editorCredentials { state count } } }', {}, service);
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  await overGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service);
  const listed = await rest(gateway, 'GET', '/user/workspaces', alice);
  mayTellPreview.push(listed.text);
  await overGraphQL('{ workspaces { nodes { previewToken } } }', {}, alice, mayTellPreview);
  await overGraphQL('{ workspaces { nodes { id gitRef } } }', {});
}

/** Inputs of every kind that is refused, each with tokens in it. */
async function badInputs(): Promise<void> {
  const bodies = [
    ACCESS,
    [pair],
    { ...pair, accessToken: [ACCESS] },
    { accessToken: ACCESS, extra: REFRESH },
  ];
  for (const body of [...bodies, { ...pair, accessToken: `${ACCESS} ` }]) {
    expect(await storePair(body)).toBe(422);
    await overGraphQL(STORE, { input: body });
    await overGraphQL(REFRESHED, { input: { userId: 'alice', version: PREVIEW, ...Object(body) } }, service);
  }
  const raw = { raw: `{"accessToken":"${ACCESS}`, headers: { 'Content-Type': 'application/json' } };
  expect(await overRest('PUT', '/editor/auth/subscription', raw)).toBe(400);
  expect(await overRest('GET', `/user/workspaces?limit=1&token=${ACCESS}`, { token: ACCESS })).toBe(401);
  await overGraphQL(`mutation { storeEditorSubscription(input: { accessToken: "${ACCESS}" }) { x } }`, {});
  await overGraphQL(`{ workspaces(first: "${ACCESS}") { ${ACCESS} }`, {});
  for (const given of [{ status: PREVIEW }, { hardware: PREVIEW }, { gitRef: 5 }, { unknown: PREVIEW }]) {
    const workspaces = [workspaceInput({ previewToken: PREVIEW, ...given })];
    await overGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service);
  }
}

/** Everything that writes a token, where the database cannot take it: each an internal error. */
async function failures(): Promise<void> {
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  expect(await storePair(pair)).toBe(500);
  expect(await overGraphQL(STORE, { input: pair })).toBe(500);
  expect(await overGraphQL(CREDENTIAL, { id: 'alice' }, service)).toBe(500);
  const refreshed = { userId: 'alice', version: '3', ...pair };
  expect(await overGraphQL(REFRESHED, { input: refreshed }, service)).toBe(500);
  expect(await overGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service)).toBe(500);
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

  await everyOperation();
  await badInputs();
  const tables = await owner.database.sql(`select tablename from pg_tables where schemaname = 'public'`);
  for (const { tablename } of tables) {
    const rows = await owner.database.sql(
      `select '${tablename}' as of, t::text as row from "${tablename}" t`,
    );
    stored += `${JSON.stringify(rows)}\n`;
  }
  await proxy.setState('refuse');
  await failures();
  await proxy.setState('open');
  // PostgreSQL tells whole rows of such errors.
  await owner.database.sql(`alter table workspace add check (length(preview_token) < 3) not valid`);
  await owner.database.sql(`alter table editor_credential add check (key_id = 'none') not valid`);
  const workspaces = [workspaceInput({ previewToken: PREVIEW })];
  expect(await storePair(pair)).toBe(500);
  expect(await overGraphQL(PUT, { input: { userId: 'alice', workspaces } }, service)).toBe(500);
  await owner.database.sql('alter table editor_credential rename to gone');
  await owner.database.sql('alter table workspace rename to gone_too');
  await failures();
  await owner.database.sql('alter table gone rename to editor_credential');
  await overGraphQL(DELETE, {});
  await overRest('DELETE', '/editor/auth');
});
afterAll(async () => {
  await gateway.close();
  await proxy.close();
  await owner.close();
});

describe('after every operation, bad input, outage and internal error', () => {
  test('the pair is in the reply of editorCredential and in no other', () => {
    expect(found(mayTellPair.join(), [ACCESS, REFRESH])).toEqual([ACCESS, REFRESH]);
    expect(replies.length).toBeGreaterThan(40);
    expect(found([...replies, ...mayTellPreview].join(), credentialForms)).toEqual([]);
  });

  test('the preview token is in the lists of its owner and in no other reply', () => {
    for (const text of mayTellPreview) expect(text).toContain(PREVIEW);
    expect(found(replies.join(), previewForms)).toEqual([]);
  });

  test('no table holds the pair; the preview token lies in its own column alone', () => {
    const tables = stored.trim().split('\n');
    expect(stored).toMatch(/"row":"\(alice,[\da-f-]{36},eyJ/);
    expect(found(stored, credentialForms)).toEqual([]);
    expect(tables.filter((text) => found(text, previewForms).length > 0)).toHaveLength(1);
    expect(stored.split(PREVIEW)).toHaveLength(2);
  });

  test('no log line holds a token, though internal errors are told there', () => {
    const lines = gateway.logLines();
    expect(lines.filter((line) => line.includes('internal error')).length).toBeGreaterThan(10);
    expect(lines.filter((line) => found(line, [...credentialForms, ...previewForms]).length > 0)).toEqual([]);
  });
});
