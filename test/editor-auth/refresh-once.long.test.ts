import { randomBytes, randomUUID } from 'node:crypto';
import { beforeEach, expect, test, vi } from 'vitest';
import { conflict } from '../support/as.ts';
import { type TestGateway, useGateway } from '../support/gateway.ts';
import { platform } from '../support/tokens.ts';

const settings = {
  ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}`,
  // Prevents failures on a busy machine: few connections to open, and a long timeout.
  DATABASE_POOL_SIZE: '3',
  DATABASE_TIMEOUT_MS: '60000',
};
/** Three gateways on one database with one encryption key. */
const gateway = useGateway(settings);
const gateways = [gateway, useGateway(settings, gateway), useGateway(settings, gateway)];

type Pair = { accessToken: string; refreshToken: string };

/** An authorization server whose refresh tokens can be used once. */
function createProvider() {
  const unused = new Set<string>();
  const outcomes: ('refreshed' | 'refused')[] = [];
  const issue = (): Pair => {
    const pair = { accessToken: `access-${randomUUID()}`, refreshToken: `refresh-${randomUUID()}` };
    unused.add(pair.refreshToken);
    return pair;
  };
  return {
    /** The outcome of every exchange of a test. */
    outcomes,
    /** Issues the first pair of tokens of a subscription. */
    issue,
    /** Refreshes a pair; undefined if the refresh token was used before. */
    async exchange(refreshToken: string): Promise<Pair | undefined> {
      const isGood = unused.delete(refreshToken);
      outcomes.push(isGood ? 'refreshed' : 'refused');
      return isGood ? issue() : undefined;
    },
  };
}
const provider = createProvider();
beforeEach(() => void provider.outcomes.splice(0));

type Credential = Pair & { version: string; needsReauth: boolean };

async function store(userId: string, pair: Pair): Promise<Credential> {
  await gateway.as(userId).connectEditor(pair);
  return read(gateway, userId);
}

async function read(at: TestGateway, userId: string): Promise<Credential> {
  const credential = await at.as(platform).editorCredential({ userId });
  const { version, accessToken, refreshToken, needsReauth } = credential;
  return { version, accessToken, refreshToken: refreshToken ?? '', needsReauth };
}

/** Returns whether a claim was granted, or the error. */
async function claim(at: TestGateway, userId: string, version: string): Promise<unknown> {
  const claimed = at.as(platform).claimRefresh({ userId, version, claimId: randomUUID() });
  return claimed.then(
    ({ granted }) => granted,
    (error) => error,
  );
}

/** Refreshes a pair at the provider, and stores the new one or reports the failure. */
async function exchange(at: TestGateway, userId: string, { version, refreshToken }: Credential) {
  const service = at.as(platform);
  const pair = await provider.exchange(refreshToken);
  if (pair === undefined) await service.reportEditorFailure({ userId, version, reason: 'REFRESH_FAILED' });
  else await service.refreshCredential({ userId, version, ...pair });
}

/** Follows docs/editor-credentials.md: returns the credential to use in place of an expired one. */
async function renew(at: TestGateway, userId: string, expired: Credential): Promise<Credential> {
  const outcome = await claim(at, userId, expired.version);
  if (outcome === true) await exchange(at, userId, expired);
  else if (outcome !== false) expect(outcome).toMatchObject(conflict('STALE_VERSION'));
  else {
    const check = async () => {
      const { version, needsReauth } = await read(at, userId);
      expect(version !== expired.version || needsReauth).toBe(true);
    };
    await vi.waitFor(check, { timeout: 20_000, interval: 500 });
  }
  return read(at, userId);
}

/** Calls `renew` 20 times concurrently on all gateways. */
const renewTogether = (userId: string, expired: Credential) =>
  Promise.all(Array.from({ length: 20 }, (_, n) => renew(gateways[n % 3] ?? gateway, userId, expired)));

test('20 concurrent callers on 3 gateways refresh a credential with one request to the provider', async () => {
  let expired = await store('shared', provider.issue());
  for (const calls of [1, 2]) {
    const renewed = await renewTogether('shared', expired);

    expect(provider.outcomes).toEqual(Array(calls).fill('refreshed'));
    const stored = await read(gateway, 'shared');
    expect(stored).toMatchObject({ needsReauth: false });
    expect(stored.version).not.toBe(expired.version);
    for (const one of renewed) expect(one).toEqual(stored);
    expired = stored;
  }
});

test('if a caller crashed after its claim, another one refreshes after the claim expired', async () => {
  const expired = await store('crashed', provider.issue());
  expect(await claim(gateway, 'crashed', expired.version)).toBe(true);
  expect(await claim(gateway, 'crashed', expired.version)).toBe(false);
  await gateway.database.sql(
    `update editor_credential set claimed_until = now() - interval '1 second' where user_id = 'crashed'`,
  );

  const renewed = await renewTogether('crashed', expired);

  expect(provider.outcomes).toEqual(['refreshed']);
  for (const { version } of renewed) expect(version).not.toBe(expired.version);
});

test('a refresh token that was already used is sent once, and all callers see needsReauth', async () => {
  const pair = provider.issue();
  const expired = await store('used', pair);
  await provider.exchange(pair.refreshToken);

  const renewed = await renewTogether('used', expired);

  expect(provider.outcomes).toEqual(['refreshed', 'refused']);
  expect(renewed).toEqual(Array(20).fill({ ...expired, needsReauth: true }));
});
