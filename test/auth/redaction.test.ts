import { expect, test } from 'vitest';
import { graphql, type RestRequest, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { member, platform } from '../support/tokens.ts';

/** A credential that is recognizable in any text. */
const credential = 'CREDENTIAL-0123456789';
const path = '/editor/auth/subscription';
const json = { 'Content-Type': 'application/json' };

const gateway = useGateway({ LOG_LEVEL: 'trace' });
/** Expects that neither a reply nor any log line contains the credential. */
function expectRedacted(text: string): void {
  expect(text).not.toContain('CREDENTIAL');
  expect(gateway.logLines().filter((line) => line.includes('CREDENTIAL'))).toEqual([]);
}

const good = { accessToken: credential, refreshToken: credential };

test.each<[where: string, status: number, request: RestRequest]>([
  ['in its proper property', 200, { body: good }],
  ['as the whole body, a JSON string', 422, { body: credential }],
  ['as the whole body, not JSON', 400, { raw: credential, headers: json }],
  ['in truncated JSON', 400, { raw: `{"accessToken":"${credential}`, headers: json }],
  ['in an array', 422, { body: [credential] }],
  ['in an array in place of the string', 422, { body: { ...good, accessToken: [credential] } }],
  ['in an object in place of the string', 422, { body: { ...good, accessToken: { token: credential } } }],
  ['next to a number', 422, { body: { ...good, refreshToken: 5 } }],
  ['next to a missing property', 422, { body: { accessToken: credential } }],
  ['in an unknown property', 422, { body: { ...good, token: credential } }],
  ['nested in an unknown property', 422, { body: { ...good, tokens: [{ access: [credential] }] } }],
  ['with a space', 422, { body: { ...good, accessToken: `${credential} ` } }],
  ['with U+0000', 422, { body: { ...good, accessToken: `${credential}\0` } }],
  ['with a non-ASCII character', 422, { body: { ...good, accessToken: `${credential}é` } }],
  ['that is too long', 422, { body: { ...good, accessToken: credential.repeat(1000) } }],
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
])('redacts a credential %s over REST in replies and logs', async (_where, status, request) => {
  const reply = await gateway.as('alice').rest.put(path, undefined, request);

  expect(reply.status).toBe(status);
  expectRedacted(reply.text);
});

test('reports the location but not the value of an invalid credential', async () => {
  const invalid = { accessToken: [credential], other: credential };
  const { body } = await gateway.as('alice').rest.put(path, invalid);

  expect(body.errors).toEqual([
    { location: 'body.accessToken', message: 'must be a string', value: '[redacted]' },
    { location: 'body.refreshToken', message: 'is required', value: null },
    { location: 'body.other', message: 'is not a known property', value: '[redacted]' },
  ]);
});

const store = `mutation ($input: StoreEditorSubscriptionInput!) {
  storeEditorSubscription(input: $input) { __typename }
}`;
const storeParts = (a = '$a: Secret!') => `mutation (${a}, $b: Secret!) {
  storeEditorSubscription(input: { accessToken: $a, refreshToken: $b }) { __typename }
}`;
const storeLiteral = (literal: string) =>
  `mutation { storeEditorSubscription(input: ${literal}) { __typename } }`;
const quoted = `"${credential}"`;
const literal = `accessToken: ${quoted}, refreshToken: ${quoted}`;

test.each<[where: string, query: string, variables?: Record<string, unknown>]>([
  ['in its proper field', store, { input: good }],
  ['in separate variables', storeParts(), { a: credential, b: credential }],
  ['in a list in place of the string', store, { input: { ...good, accessToken: [credential] } }],
  ['in an object in place of the string', store, { input: { ...good, accessToken: { token: credential } } }],
  ['in a list as a separate variable', storeParts(), { a: [credential], b: credential }],
  ['in place of the input', store, { input: credential }],
  ['in a list in place of the input', store, { input: [credential] }],
  ['in an unknown field', store, { input: { ...good, token: credential } }],
  ['next to null', store, { input: { ...good, refreshToken: null } }],
  ['next to a missing field', store, { input: { accessToken: credential } }],
  ['with a space', store, { input: { ...good, accessToken: `${credential} ` } }],
  ['in an undeclared variable', store, { input: good, more: credential }],
  ['in a variable declared as String', storeParts('$a: String!'), { a: credential, b: credential }],
  ['as a default value of a variable', storeParts(`$a: Secret = [${quoted}]`), { b: credential }],
  ['as a literal', storeLiteral(`{ ${literal} }`)],
  ['as a literal in a list', storeLiteral(`{ accessToken: [${quoted}], refreshToken: ${quoted} }`)],
  ['as a literal in place of the input', storeLiteral(quoted)],
  ['as a literal in an unknown field', storeLiteral(`{ ${literal}, a: ${quoted} }`)],
  ['as a literal that violates a rule', storeLiteral(`{ ${literal.replace('",', ' ",')} }`)],
  ['as a literal of the wrong type', `{ workspaces(first: ${quoted}) { totalCount } }`],
  ['as a literal for an enum', `{ workspaces(filter: { statuses: ${quoted} }) { totalCount } }`],
  ['as an enum value', storeLiteral('{ accessToken: CREDENTIAL, refreshToken: CREDENTIAL }')],
  ['as a literal of an unknown argument', `{ workspaces(token: ${quoted}) { totalCount } }`],
  ['as a literal of a directive', `{ __typename @skip(if: ${quoted}) }`],
  ['in a syntax error', storeLiteral(`{ accessToken: ${quoted} refreshToken: = }`)],
  ['as an unterminated string', storeLiteral(`{ accessToken: "${credential}`)],
  ['as a string with an invalid escape', storeLiteral(`{ accessToken: "${credential}\\q" }`)],
  ['as a name', storeLiteral(`{ accessToken: ${credential}, refreshToken: ${credential} }`)],
  ['as the whole document', credential],
  [
    'in two conflicting fields',
    `{ a: workspaces(after: ${quoted}) { totalCount } a: workspaces { totalCount } }`,
  ],
])('redacts a credential %s over GraphQL in replies and logs', async (_where, query, variables) => {
  const token = await member('alice');
  for (const headers of [{}, { Accept: 'application/json' }])
    expectRedacted((await graphql(gateway, query, variables, { token, headers })).text);
});

test.each<[where: string, body: unknown]>([
  ['the whole body', credential],
  ['an array', [credential]],
  ['the operation’s name', { query: 'query A { __typename }', operationName: credential }],
  ['the variables', { query: '{ __typename }', variables: credential }],
  ['the extensions', { query: '{ __typename }', extensions: credential }],
  ['a query of the wrong type', { query: [credential] }],
  ['an unknown parameter', { query: '{ __typename }', token: credential }],
])('redacts a credential as %s of a GraphQL request in replies and logs', async (_where, body) => {
  const headers = { Accept: '*/*' };
  const { text } = await sendParameters(gateway, body, { token: await member('alice'), headers });

  expectRedacted(text);
});

test('redacts the credential of an invalid refresh in replies and logs', async () => {
  const input = { userId: 'alice', version: '99', ...good };
  for (const invalid of [input, { ...input, version: credential }, { ...input, accessToken: [credential] }]) {
    const refusal = await gateway.as(platform).refreshCredential(invalid).catch(String);
    expectRedacted(refusal);
  }
});

test.each([
  ['with another scheme', `Basic ${credential}`],
  ['as a bearer token', `Bearer ${credential}`],
  ['as a bearer token of three parts', `Bearer ${btoa(credential)}.${credential}.a`],
  ['without a scheme', credential],
])('redacts a credential %s in the Authorization header in replies and logs', async (_where, value) => {
  for (const target of ['/user/workspaces', '/graphql']) {
    const { text } = await sendRaw(gateway, rawRequest(`GET ${target}`, [`Authorization: ${value}`]));
    expectRedacted(text);
  }
});

test('redacts a credential in the query string in replies and logs', async () => {
  const search = new URLSearchParams({ query: credential, variables: credential, access_token: credential });
  const headers = { Authorization: `Bearer ${await member('alice')}` };
  for (const path of ['/user/workspaces', '/graphql'])
    expectRedacted(await (await fetch(`${gateway.address}${path}?${search}`, { headers })).text());
});

test('redacts a credential in a malformed request in replies and logs', async () => {
  const { text } = await sendRaw(gateway, rawRequest('GET /', [`Authorization Bearer ${credential}`]));

  expectRedacted(text);
});
