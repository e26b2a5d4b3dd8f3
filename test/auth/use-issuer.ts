import { afterAll, afterEach, beforeAll, beforeEach, expect, vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Issuer, startIssuer } from '../support/issuer.ts';
import { signToken } from '../support/tokens.ts';

/** When the tests begin. */
export const midnight = Date.parse('2026-01-01T00:00:00Z');

/** Moves the clock to this many seconds after midnight. */
export const setClock = (seconds: number) => vi.setSystemTime(midnight + seconds * 1000);

/** Signs a token with a key of the issuer, valid for two days. */
export const sign = (key: CryptoKey, kid: string, sub = 'alice') =>
  signToken({ sub, exp: midnight / 1000 + 2 * 86_400 }, { key, header: { alg: 'ES256', kid } });

/** Starts an issuer for each test, at midnight, and a gateway that fetches its key set when the test starts it. */
export function useIssuer() {
  let database: TestDatabase;
  let issuer: Issuer;
  let gateway: TestGateway;
  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: midnight });
    issuer = await startIssuer();
  });
  afterEach(async () => {
    vi.useRealTimers();
    await gateway.close();
    await issuer.close();
  });

  const start = async () => {
    gateway = await startTestGateway({ AUTH_JWKS: '', AUTH_JWKS_URL: issuer.url }, database);
  };
  return {
    get issuer() {
      return issuer;
    },
    get gateway() {
      return gateway;
    },
    /** Starts the gateway, which fetches the key set immediately. */
    start,
    /** Starts the gateway with one published key. */
    async startWith(kid: string): Promise<CryptoKey> {
      const key = await issuer.rotate(kid);
      await start();
      return key;
    },
    /** Returns the status with which both APIs reply to a token. */
    async request(token: string): Promise<number> {
      const caller = gateway.as(async () => token);
      const { status } = await caller.graphql('{ workspaces { totalCount } }');
      expect((await caller.rest.get('/user/workspaces')).status).toBe(status);
      return status;
    },
    /** Reads the status of readiness, and its check of the key set. */
    async readiness(): Promise<[status: number, keySet: string]> {
      const response = await fetch(`${gateway.address}/readyz`);
      return [response.status, (await response.json()).checks.key_set];
    },
    messages: () => gateway.logLines().map((line) => JSON.parse(line).msg),
  };
}
