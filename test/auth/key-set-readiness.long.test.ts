import { afterEach, expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';

let issuer: Issuer;
let gateway: TestGateway;
afterEach(async () => {
  vi.useRealTimers();
  await gateway.close();
  await issuer.close();
});

async function readiness() {
  const response = await fetch(`${gateway.address}/readyz`);
  const { checks } = await response.json();
  return { status: response.status, keySet: checks.key_set };
}

const messages = () => gateway.logLines().map((line) => JSON.parse(line).msg);

test('a gateway is not ready until the key set was fetched, logs it, and retries', async () => {
  issuer = await startIssuer();
  issuer.fail();
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });

  const failed = 'fetching the key set from AUTH_JWKS_URL failed; the gateway is not ready until it succeeds';
  await eventually(() => expect(messages()).toContain(failed));
  expect(await readiness()).toEqual({ status: 503, keySet: 'was never fetched' });
  expect((await fetch(`${gateway.address}/healthz`)).status).toBe(200);

  issuer.recover();
  await eventually(async () => expect(await readiness()).toEqual({ status: 200, keySet: 'ok' }));
  expect(messages()).toContain('fetched the key set from AUTH_JWKS_URL');
});

test('without traffic, the key set stays current; each outage of the issuer is logged once', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() });
  issuer = await startIssuer();
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });
  await eventually(async () => expect(await readiness()).toEqual({ status: 200, keySet: 'ok' }));
  issuer.fail();
  vi.setSystemTime(Date.now() + 26_000);
  const failed = 'fetching the key set from AUTH_JWKS_URL failed; the last keys are used until it succeeds';
  await eventually(() => expect(messages()).toContain(failed));
  const requests = issuer.requests();
  vi.setSystemTime(Date.now() + 6000);
  await eventually(() => expect(issuer.requests()).toBeGreaterThan(requests));
  expect(await readiness()).toEqual({ status: 200, keySet: 'ok' });

  issuer.recover();
  vi.setSystemTime(Date.now() + 6000);
  await eventually(() => expect(messages()).toContain('fetched the key set from AUTH_JWKS_URL'));
  expect(messages().filter((message) => message === failed)).toHaveLength(1);
});

test('a key set with shared secrets only is reported in one line, without them', async () => {
  issuer = await startIssuer();
  issuer.respondWith('{"keys":[{"kty":"oct","k":"c2VjcmV0LXdvcmQ"}]}');
  gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url });
  const failed = 'fetching the key set from AUTH_JWKS_URL failed; the gateway is not ready until it succeeds';
  await eventually(() => expect(messages()).toContain(failed));
  const line = gateway.logLines().find((text) => text.includes(failed)) ?? '';
  expect(JSON.parse(line).err).toEqual({
    type: 'Error',
    message:
      'The key set at AUTH_JWKS_URL contains no public key (kty RSA, EC or OKP), and tokens signed with a shared secret (kty oct) are not accepted; let the issuer sign with a private key.',
  });
  expect(line).not.toContain('c2VjcmV0LXdvcmQ');
  expect(await readiness()).toEqual({ status: 503, keySet: 'was never fetched' });
});
