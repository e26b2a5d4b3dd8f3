import { expect, test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { rawRequest, sendRaw } from '../support/raw.ts';

/*
 * A preflight request needs no token, and its sender chooses the origin. The log has a hint for the operator of a web app
 * whose origin is not configured, which must not let others fill the log or write lines of their own.
 */

const gateway = useGateway({ CORS_ORIGINS: 'https://app.example.test' });

const ask = (Origin: string, method = 'OPTIONS') =>
  fetch(`${gateway.address}/graphql`, {
    method,
    headers: { Origin, 'Access-Control-Request-Method': 'POST' },
  });

const hints = () =>
  gateway
    .logLines()
    .map((line) => JSON.parse(line))
    .filter(({ msg }) => msg.includes('CORS_ORIGINS'));

test('allowed origins, requests without an origin and other methods are not reported', async () => {
  await ask('https://app.example.test');
  await ask('https://stranger.test', 'GET');
  await fetch(`${gateway.address}/graphql`, { method: 'OPTIONS' });
  expect(hints()).toEqual([]);
});

test('the first refused preflight request is logged as a bounded line, and no other', async () => {
  const longOrigin = `https://${'\u00a0\u0085x'.repeat(1000)}.test`;
  await sendRaw(gateway, rawRequest('OPTIONS /graphql', [`Origin: ${longOrigin}`]));
  for (let count = 0; count < 20; count += 1) await ask(`https://stranger-${count}.test`);

  const [hint, ...others] = hints();
  expect(others).toEqual([]);
  expect(hint).toMatchObject({ level: 40, origin: expect.stringMatching(/^https:/) });
  expect(hint.origin.length).toBeLessThanOrEqual(200);
  expect(hint.origin).not.toMatch(/[\p{Cc}\u00a0]/u);
});
