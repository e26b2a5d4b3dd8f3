import { createSecretKey, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';

/*
 * The token of an unsubscribe link does not expire. Mail programs, proxies and users change links, and whoever can read
 * the log must not be able to use the token of a link that arrived in another spelling.
 */

let gateway: TestGateway;
let token: string;
beforeAll(async () => {
  const key = randomBytes(32);
  gateway = await startTestGateway({
    ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
    LOG_LEVEL: 'trace',
    CORS_ORIGINS: 'https://app.example.com',
  });
  await publish(gateway, 'alice');
  const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(key)]]));
  token = tokens.sign({ userId: 'alice', kind: 'task_failed' });
});
afterAll(() => gateway.close());

const UNMATCHED = '(unmatched)';
const TEMPLATE = '/unsubscribe/{token}';

/** Request targets with `{token}` in place of the token, and how their path is logged; null if the request is not. */
const targets: [spelling: string, target: string, logged: string | null][] = [
  ['the link', '/unsubscribe/{token}', TEMPLATE],
  ['with a query', '/unsubscribe/{token}?{token}={token}', TEMPLATE],
  ['with a fragment', '/unsubscribe/{token}#{token}', TEMPLATE],
  ['with a matrix parameter', '/unsubscribe/{token};a={token}', TEMPLATE],
  ['with a full stop at the end', '/unsubscribe/{token}.', TEMPLATE],
  ['with an encoded space at the end', '/unsubscribe/{token}%20', TEMPLATE],
  ['in absolute form', 'http://gateway.test/unsubscribe/{token}', TEMPLATE],
  ['in absolute form with an upper-case scheme', 'HTTP://gateway.test/unsubscribe/{token}', TEMPLATE],
  ['with a trailing slash', '/unsubscribe/{token}/', UNMATCHED],
  ['with two slashes at the start', '//unsubscribe/{token}', UNMATCHED],
  ['with two slashes inside', '/unsubscribe//{token}', UNMATCHED],
  ['with two slashes in absolute form', 'http://gateway.test//unsubscribe/{token}', UNMATCHED],
  ['with an upper-case letter', '/Unsubscribe/{token}', UNMATCHED],
  ['in upper case', '/UNSUBSCRIBE/{token}', UNMATCHED],
  ['with an encoded letter', '/%75nsubscribe/{token}', UNMATCHED],
  ['with an encoded letter in upper case', '/%55NSUBSCRIBE/{token}', UNMATCHED],
  ['with an encoded slash', '/unsubscribe%2F{token}', UNMATCHED],
  ['with an encoded slash in lower case', '/unsubscribe%2f{token}', UNMATCHED],
  ['with a doubly encoded slash', '/unsubscribe%252F{token}', UNMATCHED],
  ['with an encoded first slash', '/%2Funsubscribe/{token}', UNMATCHED],
  ['with a dot segment', '/./unsubscribe/{token}', UNMATCHED],
  ['with a dot segment inside', '/unsubscribe/./{token}', UNMATCHED],
  ['with a parent segment', '/user/../unsubscribe/{token}', UNMATCHED],
  ['with an encoded parent segment', '/user/%2e%2e/unsubscribe/{token}', UNMATCHED],
  ['with a backslash', '/unsubscribe\\{token}', UNMATCHED],
  ['with backslashes only', '/\\unsubscribe\\{token}', UNMATCHED],
  ['with an encoded backslash', '/unsubscribe%5C{token}', UNMATCHED],
  ['with a backslash and a fragment', '/user\\unsubscribe\\{token}#x', UNMATCHED],
  ['with an invalid encoding', '/unsubscribe/%/{token}', UNMATCHED],
  ['with an encoded NUL', '/unsubscribe%00/{token}', UNMATCHED],
  ['with a matrix parameter of the first segment', '/unsubscribe;a=b/{token}', UNMATCHED],
  ['with an encoded question mark', '/unsubscribe%3F{token}', UNMATCHED],
  ['with a soft hyphen', '/un%C2%ADsubscribe/{token}', UNMATCHED],
  ['with a prefix that a proxy should have removed', '/account/unsubscribe/{token}', UNMATCHED],
  ['with a path after the token', '/unsubscribe/{token}/x', UNMATCHED],
  ['with an equals sign of quoted-printable', '/unsubscribe=/{token}', UNMATCHED],
  ['with angle brackets', '/<https://gateway.test/unsubscribe/{token}>', UNMATCHED],
  ['without a slash before the token', '/unsubscribe{token}', UNMATCHED],
  ['with the token alone', '/{token}', UNMATCHED],
  ['with the whole link in the path', '/https://gateway.test/unsubscribe/{token}', UNMATCHED],
  ['below the page', '/graphql/unsubscribe/{token}', UNMATCHED],
  ['in the name of a file', '/docs/assets/..%2F..%2Funsubscribe%2F{token}', '/docs/assets/{file}'],
  ['in the name of another file', '/graphql/assets/%2e%2e%5c%2e%2e%5c{token}', '/graphql/assets/{file}'],
  [
    'in the place of an ID',
    '/user/notifications/..%2Funsubscribe%2F{token}/dismiss',
    '/user/notifications/{id}/dismiss',
  ],
  ['as the query of the first segment', '/unsubscribe?/{token}', UNMATCHED],
  ['as the query of the root', '/?/unsubscribe/{token}', UNMATCHED],
  ['as a query after an empty token', '/unsubscribe/?{token}', TEMPLATE],
  ['as the host', 'http://{token}/unsubscribe/', TEMPLATE],
  ['as the user of the host', 'http://{token}@gateway.test/unsubscribe/', TEMPLATE],
  ['with a scheme and backslashes', 'http:\\\\gateway.test\\unsubscribe\\{token}', null],
  ['without a leading slash', 'unsubscribe/{token}', null],
  ['with a space', '/unsubscribe /{token}', null],
  ['with a tab', '/unsubscribe/\t{token}', null],
  ['with bytes that are not ASCII', '/\u00fcnsubscribe/{token}', null],
];

describe.each(['GET', 'HEAD', 'POST', 'OPTIONS', 'PUT'])('%s of a link logs no token', (method) => {
  test.each(targets)('%s: %s', async (_spelling, target, logged) => {
    const before = gateway.logLines().length;
    const sent = target.replaceAll('{token}', token);
    const origin = 'Origin: https://app.example.com';
    const lines = [`${method} ${sent} HTTP/1.1`, 'Host: gateway.test', origin, 'Connection: close'];
    await sendRaw(gateway, `${lines.join('\r\n')}\r\n\r\n`);

    const written = gateway.logLines().slice(before);
    const paths = written
      .map((line) => JSON.parse(line))
      .flatMap(({ msg, path }) => (msg === 'request' ? [path] : []));
    expect(paths).toEqual(logged === null ? [] : [logged]);
    expectNoToken(written.join('\n'));
  });
});

test('the labels of the metrics contain no token either', async () => {
  const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
  expect(metrics).toContain('http_route="unmatched"');
  expect(metrics).toContain(`http_route="${TEMPLATE}"`);
  expectNoToken(metrics);
});

test('an internal error of a link logs no token', async () => {
  await gateway.database.sql('alter table user_revision rename to unavailable');
  for (const method of ['GET', 'POST']) {
    const { status } = await fetch(`${gateway.address}/unsubscribe/${token}`, { method });
    expect(status).toBe(500);
  }
  const lines = gateway.logLines();
  expect(lines.filter((line) => line.includes('internal error'))).toHaveLength(2);
  expectNoToken(lines.join('\n'));
});

/** Expects no part of the token, whatever surrounds it. */
function expectNoToken(text: string): void {
  for (let index = 0; index + 12 <= token.length; index += 12)
    expect(text).not.toContain(token.slice(index, index + 12));
}
