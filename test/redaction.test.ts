import { afterAll, beforeAll, expect, test } from 'vitest';
import { graphql, type RestRequest, rest } from './support/client.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { rawRequest, sendRaw } from './support/raw.ts';
import { member, platform } from './support/tokens.ts';

/** A credential that is recognised wherever it turns up. */
const credential = 'CREDENTIAL-0123456789';
const path = '/editor/auth/subscription';
const json = { 'Content-Type': 'application/json' };

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  gateway = await startTestGateway({ LOG_LEVEL: 'trace' });
  token = await member('alice');
});
afterAll(() => gateway.close());

/** What came back, and all that was logged, must not hold the credential. */
function expectSilence(text: string): void {
  expect(text).not.toContain('CREDENTIAL');
  expect(gateway.logLines().filter((line) => line.includes('CREDENTIAL'))).toEqual([]);
}

const good = { accessToken: credential, refreshToken: credential };

test.each<[where: string, status: number, request: RestRequest]>([
  ['in its right place', 200, { body: good }],
  ['as the whole body, a text', 422, { body: credential }],
  ['as the whole body, not JSON', 400, { raw: credential, headers: json }],
  ['in JSON that is cut off', 400, { raw: `{"accessToken":"${credential}`, headers: json }],
  ['in a list', 422, { body: [credential] }],
  ['in a list in its place', 422, { body: { ...good, accessToken: [credential] } }],
  ['in an object in its place', 422, { body: { ...good, accessToken: { token: credential } } }],
  ['beside a number', 422, { body: { ...good, refreshToken: 5 } }],
  ['beside nothing', 422, { body: { accessToken: credential } }],
  ['in an unknown property', 422, { body: { ...good, token: credential } }],
  ['deep in an unknown property', 422, { body: { ...good, tokens: [{ access: [credential] }] } }],
  ['with a space', 422, { body: { ...good, accessToken: `${credential} ` } }],
  ['with U+0000', 422, { body: { ...good, accessToken: `${credential}\0` } }],
  ['with a letter outside of ASCII', 422, { body: { ...good, accessToken: `${credential}é` } }],
  ['too long', 422, { body: { ...good, accessToken: credential.repeat(1000) } }],
  [
    'with another Content-Type',
    400,
    { raw: JSON.stringify(good), headers: { 'Content-Type': 'text/plain' } },
  ],
  [
    'with a wrong encoding',
    400,
    { raw: JSON.stringify(good), headers: { ...json, 'Content-Encoding': 'gzip' } },
  ],
])('a credential %s over REST is in no reply and no log line', async (_where, status, request) => {
  const reply = await rest(gateway, 'PUT', path, { token, ...request });

  expect(reply.status).toBe(status);
  expectSilence(reply.text);
});

test('a fault of a credential is told with its place and without its value', async () => {
  const { body } = await rest(gateway, 'PUT', path, {
    token,
    body: { accessToken: [credential], other: credential },
  });

  expect(body.errors).toEqual([
    { location: 'body.accessToken', message: 'must be a string', value: '[redacted]' },
    { location: 'body.refreshToken', message: 'is required', value: null },
    { location: 'body.other', message: 'is not a known property', value: '[redacted]' },
  ]);
});

const store =
  'mutation ($input: StoreEditorSubscriptionInput!) { storeEditorSubscription(input: $input) { __typename } }';
const storeParts =
  'mutation ($a: Secret!, $b: Secret!) { storeEditorSubscription(input: { accessToken: $a, refreshToken: $b }) { __typename } }';
const storeLiteral = (literal: string) =>
  `mutation { storeEditorSubscription(input: ${literal}) { __typename } }`;
const quoted = `"${credential}"`;

test.each<[where: string, query: string, variables?: Record<string, unknown>]>([
  ['in its right place', store, { input: good }],
  ['in variables of its own', storeParts, { a: credential, b: credential }],
  ['in a list in its place', store, { input: { ...good, accessToken: [credential] } }],
  ['in an object in its place', store, { input: { ...good, accessToken: { token: credential } } }],
  ['in a list for a variable of its own', storeParts, { a: [credential], b: credential }],
  ['in place of the input', store, { input: credential }],
  ['in a list in place of the input', store, { input: [credential] }],
  ['in an unknown field', store, { input: { ...good, token: credential } }],
  ['beside null', store, { input: { ...good, refreshToken: null } }],
  ['beside nothing', store, { input: { accessToken: credential } }],
  ['with a space', store, { input: { ...good, accessToken: `${credential} ` } }],
  ['in a variable that is not declared', store, { input: good, more: credential }],
  [
    'in a variable that is declared as text',
    storeParts.replace('$a: Secret!', '$a: String!'),
    { a: credential, b: credential },
  ],
  [
    'as the default of a variable',
    storeParts.replace('$a: Secret!', `$a: Secret = [${quoted}]`),
    { b: credential },
  ],
  ['as a literal', storeLiteral(`{ accessToken: ${quoted}, refreshToken: ${quoted} }`)],
  ['as a literal in a list', storeLiteral(`{ accessToken: [${quoted}], refreshToken: ${quoted} }`)],
  ['as a literal in place of the input', storeLiteral(quoted)],
  [
    'as a literal in an unknown field',
    storeLiteral(`{ accessToken: ${quoted}, refreshToken: ${quoted}, a: ${quoted} }`),
  ],
  [
    'as a literal that breaks a rule',
    storeLiteral(`{ accessToken: "${credential} ", refreshToken: ${quoted} }`),
  ],
  ['as a literal of another type', `{ workspaces(first: ${quoted}) { totalCount } }`],
  ['as a literal for an enum', `{ workspaces(status: ${quoted}) { totalCount } }`],
  ['as a word of an enum', storeLiteral('{ accessToken: CREDENTIAL, refreshToken: CREDENTIAL }')],
  ['as a literal of an unknown argument', `{ workspaces(token: ${quoted}) { totalCount } }`],
  ['as a literal of a directive', `{ __typename @skip(if: ${quoted}) }`],
  ['in a syntax error', storeLiteral(`{ accessToken: ${quoted} refreshToken: = }`)],
  ['as a text that does not end', storeLiteral(`{ accessToken: "${credential}`)],
  ['as a text with a bad escape', storeLiteral(`{ accessToken: "${credential}\\q" }`)],
  ['as a bare word', storeLiteral(`{ accessToken: ${credential}, refreshToken: ${credential} }`)],
  ['as the whole document', credential],
  [
    'in two conflicting fields',
    `{ a: notification(id: ${quoted}) { __typename } a: notification(id: "x") { __typename } }`,
  ],
])('a credential %s over GraphQL is in no reply and no log line', async (_where, query, variables) => {
  const { text } = await graphql(gateway, query, variables, { token });
  const { text: lenient } = await graphql(gateway, query, variables, {
    token,
    headers: { Accept: 'application/json' },
  });

  expectSilence(text);
  expectSilence(lenient);
});

test.each<[where: string, body: unknown]>([
  ['the whole body', credential],
  ['a list', [credential]],
  ['the operation’s name', { query: 'query A { __typename }', operationName: credential }],
  ['the variables', { query: '{ __typename }', variables: credential }],
  ['the extensions', { query: '{ __typename }', extensions: credential }],
  ['the document’s place in another type', { query: [credential] }],
  ['an unknown parameter', { query: '{ __typename }', token: credential }],
])('a credential as %s of a GraphQL request is in no reply and no log line', async (_where, body) => {
  const response = await fetch(`${gateway.address}/graphql`, {
    method: 'POST',
    headers: { ...json, Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });

  expectSilence(await response.text());
});

test('a platform service’s refreshed pair with issues is in no reply and no log line', async () => {
  const query =
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }';
  const service = { token: await platform() };
  const input = { userId: 'alice', version: '99', ...good };

  for (const faulty of [input, { ...input, version: credential }, { ...input, accessToken: [credential] }]) {
    expectSilence((await graphql(gateway, query, { input: faulty }, service)).text);
  }
});

test.each([
  ['as another scheme', `Basic ${credential}`],
  ['as a bearer token', `Bearer ${credential}`],
  [
    'as a bearer token of three parts',
    `Bearer ${Buffer.from(credential).toString('base64url')}.${credential}.a`,
  ],
  ['without a scheme', credential],
])('a credential %s in the Authorization header is in no reply and no log line', async (_where, value) => {
  for (const target of ['/user/workspaces', '/graphql']) {
    const { text } = await sendRaw(gateway, rawRequest(`GET ${target}`, [`Authorization: ${value}`]));
    expectSilence(text);
  }
});

test('a credential in the query of an address is in no reply and no log line', async () => {
  const overRest = await rest(gateway, 'GET', `/user/workspaces?access_token=${credential}`, { token });
  const overGraphQL = await fetch(
    `${gateway.address}/graphql?${new URLSearchParams({ query: credential, variables: credential })}`,
    { headers: { Authorization: `Bearer ${token}` } },
  );

  expectSilence(overRest.text);
  expectSilence(await overGraphQL.text());
});

test('a credential in a malformed request is in no reply and no log line', async () => {
  const { text } = await sendRaw(gateway, rawRequest('GET /', [`Authorization Bearer ${credential}`]));

  expectSilence(text);
});
