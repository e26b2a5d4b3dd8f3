import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { containsSecret, secret } from '../../rest/wire.ts';
import { getKysely, openDatabase } from '../../src/database/database.ts';
import { createLog } from '../../src/log.ts';
import { Secret } from '../../src/values/secret.ts';
import { type RestRequest, sendParameters } from '../support/client.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { putWorkspaces, workspaceInput } from '../support/records.ts';
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
const goodJson = JSON.stringify(good);

test.each<[where: string, status: number, request: RestRequest]>([
  ['in its proper property', 200, { body: good }],
  ['as the whole body, a JSON string', 422, { body: credential }],
  ['as the whole body, not JSON', 400, { raw: credential, headers: json }],
  ['in truncated JSON', 400, { raw: `{"accessToken":"${credential}`, headers: json }],
  ['in an array in place of the string', 422, { body: { ...good, accessToken: [credential] } }],
  ['in an object in place of the string', 422, { body: { ...good, accessToken: { token: credential } } }],
  ['next to a missing property', 422, { body: { accessToken: credential } }],
  ['in an unknown property', 422, { body: { ...good, token: credential } }],
  ['nested in an unknown property', 422, { body: { ...good, tokens: [{ access: [credential] }] } }],
  ['with a non-ASCII character', 422, { body: { ...good, accessToken: `${credential}é` } }],
  ['that is too long', 422, { body: { ...good, accessToken: credential.repeat(1000) } }],
  ['with another Content-Type', 400, { raw: goodJson, headers: { 'Content-Type': 'text/plain' } }],
  ['with a wrong encoding', 400, { raw: goodJson, headers: { ...json, 'Content-Encoding': 'gzip' } }],
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
const storeVariable = (declared: string) => `mutation (${declared}) {
  storeEditorSubscription(input: { accessToken: $a, refreshToken: "b" }) { __typename }
}`;
const storeLiteral = (literal: string) =>
  `mutation { storeEditorSubscription(input: ${literal}) { __typename } }`;
const quoted = `"${credential}"`;

// marked-inputs.long.test.ts has the forms in which a document gives a valid or invalid credential as an argument.
test.each<[where: string, query: string, variables?: Record<string, unknown>]>([
  ['in its proper field', store, { input: good }],
  ['next to a missing field', store, { input: { accessToken: credential } }],
  ['in an unknown field', store, { input: { ...good, token: credential } }],
  ['in an undeclared variable', store, { input: good, more: credential }],
  ['in a variable declared as String', storeVariable('$a: String!'), { a: credential }],
  ['as a default value of a variable', storeVariable(`$a: Secret = [${quoted}]`)],
  ['as a literal of the wrong type', `{ workspaces(first: ${quoted}) { totalCount } }`],
  ['as a literal for an enum', `{ workspaces(filter: { statuses: ${quoted} }) { totalCount } }`],
  ['as an enum value', storeLiteral('{ accessToken: CREDENTIAL, refreshToken: CREDENTIAL }')],
  ['as a literal of an unknown argument', `{ workspaces(token: ${quoted}) { totalCount } }`],
  ['as a literal of a directive', `{ __typename @skip(if: ${quoted}) }`],
  ['in a syntax error', storeLiteral(`{ accessToken: ${quoted} refreshToken: = }`)],
  ['as an unterminated string', storeLiteral(`{ accessToken: "${credential}`)],
  ['as a string with an invalid escape', storeLiteral(`{ accessToken: "${credential}\\q" }`)],
  ['as the whole document', credential],
  [
    'in two conflicting fields',
    `{ a: workspaces(after: ${quoted}) { totalCount } a: workspaces { totalCount } }`,
  ],
])('redacts a credential %s over GraphQL in replies and logs', async (_where, query, variables) => {
  for (const headers of [{}, { Accept: 'application/json' }])
    expectRedacted((await gateway.as('alice').graphql(query, variables, { headers })).text);
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
  ['in the Authorization header with another scheme', `Authorization: Basic ${credential}`],
  ['as a bearer token', `Authorization: Bearer ${credential}`],
  ['as a bearer token of three parts', `Authorization: Bearer ${btoa(credential)}.${credential}.a`],
  ['in the Authorization header without a scheme', `Authorization: ${credential}`],
  ['in a malformed header', `Authorization Bearer ${credential}`],
])('redacts a credential %s in replies and logs', async (_where, line) => {
  for (const target of ['/user/workspaces', '/graphql'])
    expectRedacted((await sendRaw(gateway, rawRequest(`GET ${target}`, [line]))).text);
});

test('redacts a credential in the query string in replies and logs', async () => {
  const search = new URLSearchParams({ query: credential, variables: credential, access_token: credential });
  const headers = { Authorization: `Bearer ${await member('alice')}` };
  for (const path of ['/user/workspaces', '/graphql'])
    expectRedacted(await (await fetch(`${gateway.address}${path}?${search}`, { headers })).text());
});

test('detects a secret in any part of the shape of a body', () => {
  const shape = z.array(z.strictObject({ inner: secret().optional() }));
  expect([containsSecret(shape), containsSecret(z.array(z.string()))]).toEqual([true, false]);
});

test('a secret matches only the same string', () => {
  const secret = new Secret(credential);
  expect(secret.matches(credential)).toBe(true);
  for (const other of ['', credential.slice(1), `${credential} `, credential.toLowerCase(), String(secret)])
    expect(secret.matches(other)).toBe(false);
});

test.each<[how: string, print: (value: unknown) => string]>([
  ['JSON.stringify', (value) => JSON.stringify({ value })],
  ['String', (value) => `${value}`],
  ['util.inspect', (value) => inspect(value, { depth: null, showHidden: true, getters: true })],
  [
    'console.log',
    (value) => capture((sink) => new Console(sink).log('%s %o %O %j', value, value, value, value)),
  ],
  ['the log', (value) => capture((sink) => createLog('trace', sink).info({ value, err: value }, 'text'))],
])('neither a secret, nor what contains one, nor a row with one is printed by %s', async (_how, print) => {
  await putWorkspaces(gateway, 'alice', [workspaceInput({ previewToken: credential })]);
  const database = await openDatabase({ url: gateway.database.url, poolSize: 1, timeoutMs: 5000 });
  const rows = await getKysely(database.fork()).selectFrom('Workspace').selectAll().execute();
  await database.close();
  expect(rows[0]?.previewToken?.reveal()).toBe(credential);
  const secret = new Secret(credential);
  for (const value of [
    secret,
    { input: [{ secret }] },
    Object.assign(new Error('failed'), { secret }),
    rows,
  ]) {
    const text = print(value);
    expect(text).not.toBe('');
    expect(text).not.toContain(credential);
  }
});

function capture(print: (sink: Writable) => void): string {
  let text = '';
  const write = (chunk: unknown, _encoding: unknown, done: () => void) => {
    text += String(chunk);
    done();
  };
  print(new Writable({ write }));
  return text;
}
