import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createUnsubscribeTokens } from '../../src/delivery/email/unsubscribe-token.ts';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';
import { publish } from '../support/records.ts';

const key = randomBytes(32);
const gateway = useGateway({
  ENCRYPTION_KEYS: `k1:${key.toString('base64')}`,
  LOG_LEVEL: 'trace',
  CORS_ORIGINS: 'https://app.example.com',
});

/** Log lines, without the first `before`. */
const readLog = (before = 0) =>
  gateway
    .logLines()
    .slice(before)
    .map((line) => JSON.parse(line));

/*
 * The token of an unsubscribe link does not expire. Mail programs, proxies and users change links, and whoever can read
 * the log must not be able to use the token of a link that arrived in another spelling.
 */
describe('the token of a link is not logged', () => {
  const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(key)]]));
  const token = tokens.sign({ userId: 'alice', kind: 'task_failed' });

  /** Expects no part of the token, whatever surrounds it. */
  function expectNoToken(text: string): void {
    for (let index = 0; index + 12 <= token.length; index += 12)
      expect(text).not.toContain(token.slice(index, index + 12));
  }

  const TEMPLATE = '/unsubscribe/{token}';

  /** Request targets by the path that is logged; those of `none` are refused before a path is known. */
  const targets = {
    [TEMPLATE]: [
      '/unsubscribe/{token}',
      '/unsubscribe/{token}?{token}={token}',
      '/unsubscribe/{token}#{token}',
      '/unsubscribe/{token};a={token}',
      '/unsubscribe/{token}%20',
      '/unsubscribe/?{token}',
      'http://gateway.test/unsubscribe/{token}',
      'HTTP://gateway.test/unsubscribe/{token}',
      'http://{token}/unsubscribe/',
      'http://{token}@gateway.test/unsubscribe/',
    ],
    '(unmatched)': [
      '/unsubscribe/{token}/',
      '/unsubscribe/{token}/x',
      '/account/unsubscribe/{token}',
      '//unsubscribe/{token}',
      'http://gateway.test//unsubscribe/{token}',
      '/Unsubscribe/{token}',
      '/%75nsubscribe/{token}',
      '/unsubscribe%2F{token}',
      '/unsubscribe%252F{token}',
      '/unsubscribe%3F{token}',
      '/unsubscribe/./{token}',
      '/user/../unsubscribe/{token}',
      '/user/%2e%2e/unsubscribe/{token}',
      '/unsubscribe\\{token}',
      '/unsubscribe%5C{token}',
      '/user\\unsubscribe\\{token}#x',
      '/unsubscribe/%/{token}',
      '/unsubscribe%00/{token}',
      '/unsubscribe;a=b/{token}',
      '/unsubscribe{token}',
      '/{token}',
      '/<https://gateway.test/unsubscribe/{token}>',
      '/unsubscribe?/{token}',
      '/?/unsubscribe/{token}',
    ],
    '/docs/assets/{file}': ['/docs/assets/..%2F..%2Funsubscribe%2F{token}'],
    '/user/notifications/{id}/dismiss': ['/user/notifications/..%2Funsubscribe%2F{token}/dismiss'],
    none: [
      'http:\\\\gateway.test\\unsubscribe\\{token}',
      'unsubscribe/{token}',
      '/unsubscribe /{token}',
      '/unsubscribe/\t{token}',
      '/\u00fcnsubscribe/{token}',
    ],
  };
  const spellings = Object.entries(targets).flatMap(([logged, all]) =>
    all.map((target): [string, string, string] => ['GET', target, logged]),
  );
  const otherMethods = ['HEAD', 'POST', 'OPTIONS', 'PUT'].map((method): [string, string, string] => [
    method,
    TEMPLATE,
    TEMPLATE,
  ]);

  test.each([...spellings, ...otherMethods])(
    'of %s %j, whose path is logged as %s',
    async (method, target, logged) => {
      const before = gateway.logLines().length;
      const lines = ['Origin: https://app.example.com'];
      await sendRaw(gateway, rawRequest(`${method} ${target.replaceAll('{token}', token)}`, lines));

      const paths = readLog(before).flatMap(({ msg, path }) => (msg === 'request' ? [path] : []));
      expect(paths).toEqual(logged === 'none' ? [] : [logged]);
      expectNoToken(gateway.logLines().slice(before).join('\n'));
    },
  );

  test('in labels of metrics either', async () => {
    const metrics = await (await fetch(`${gateway.address}/metrics`)).text();
    expect(metrics).toContain('http_route="unmatched"');
    expect(metrics).toContain(`http_route="${TEMPLATE}"`);
    expectNoToken(metrics);
  });

  test('with an internal error', async () => {
    await publish(gateway, 'alice');
    await gateway.database.sql('alter table user_revision rename to unavailable');
    const { status } = await fetch(`${gateway.address}/unsubscribe/${token}`, { method: 'POST' });
    await gateway.database.sql('alter table unavailable rename to user_revision');
    expect(status).toBe(500);
    const lines = gateway.logLines();
    expect(lines.filter((line) => line.includes('internal error'))).toHaveLength(1);
    expectNoToken(lines.join('\n'));
  });
});

/*
 * A preflight request needs no token, and its sender chooses the origin. The log has a hint for the operator of a web app
 * whose origin is not configured, which must not let others fill the log or write lines of their own.
 */
describe('a refused origin', () => {
  const ask = (Origin: string, method = 'OPTIONS') =>
    fetch(`${gateway.address}/graphql`, {
      method,
      headers: { Origin, 'Access-Control-Request-Method': 'POST' },
    });
  const hints = () => readLog().filter(({ msg }) => msg.includes('CORS_ORIGINS'));

  test('is logged once, as a bounded line, and only for a preflight request', async () => {
    await ask('https://app.example.com');
    await ask('https://stranger.test', 'GET');
    await fetch(`${gateway.address}/graphql`, { method: 'OPTIONS' });
    expect(hints()).toEqual([]);

    const longOrigin = `https://${'\u00a0\u0085x'.repeat(1000)}.test`;
    await sendRaw(gateway, rawRequest('OPTIONS /graphql', [`Origin: ${longOrigin}`]));
    for (let count = 0; count < 20; count += 1) await ask(`https://stranger-${count}.test`);

    const [hint, ...others] = hints();
    expect(others).toEqual([]);
    expect(hint).toMatchObject({ level: 40, origin: expect.stringMatching(/^https:/) });
    expect(hint.origin.length).toBeLessThanOrEqual(200);
    expect(hint.origin).not.toMatch(/[\p{Cc}\u00a0]/u);
  });
});
