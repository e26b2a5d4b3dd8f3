import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, expect } from 'vitest';
import { readConfig } from '../../src/config.ts';
import { openDatabase } from '../../src/database/database.ts';
import { createLog } from '../../src/log.ts';
import type { Timeouts } from '../../src/server/connections.ts';
import { startGateway } from '../../src/server/gateway.ts';
import { type Caller, createAs, type Who } from './as.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { AUDIENCE, ISSUER, jwks, TASK_CLAIMS } from './tokens.ts';

/** Matches log lines of failures, of which replies say only `INTERNAL_ERROR`. */
const ERROR = /^{"level":(50|60|"error"|"fatal")/;

/** A gateway in this process, by default on its own database. */
export type TestGateway = {
  address: string;
  adminAddress: string;
  /** The lines that `npm start` prints. */
  startLines: readonly string[];
  database: TestDatabase;
  /** Returns a caller, such as `as('alice')` or `as(platform)`. */
  as(who: Who): Caller;
  /** All log lines so far. */
  logLines(): string[];
  close(): Promise<void>;
};

/**
 * Environment variables of a test gateway: its database, the tests' key set and claims, a random encryption key, no rate
 * limits, and a database timeout that a pause of the machine does not exceed.
 */
export function settingsFor({ url }: Pick<TestDatabase, 'url'>): Record<string, string> {
  return {
    DATABASE_URL: url,
    DATABASE_TIMEOUT_MS: '30000',
    AUTH_JWKS: JSON.stringify(jwks),
    AUTH_ISSUER: ISSUER,
    AUTH_AUDIENCE: AUDIENCE,
    ENCRYPTION_KEYS: `k1:${randomBytes(32).toString('base64')}`,
    RATE_LIMIT_READS_PER_MINUTE: '0',
    RATE_LIMIT_WRITES_PER_MINUTE: '0',
    RATE_LIMIT_TASKS_PER_MINUTE: '0',
    AUTH_TASK_USER_CLAIM: TASK_CLAIMS.user,
    AUTH_TASK_CLAIM: TASK_CLAIMS.task,
    GRAPHIQL: 'false',
  };
}

/** Starts a gateway before the tests of a file or group, and closes it after them. `first` shares its database. */
export function useGateway(
  environment: Record<string, string> = {},
  first?: Pick<TestGateway, 'database'>,
): TestGateway {
  let started: TestGateway | undefined;
  beforeAll(async () => {
    started = await startTestGateway(environment, first?.database);
  });
  afterAll(() => started?.close());
  const running = () => started ?? expect.unreachable('The gateway starts before the first test.');
  const gateway: Omit<TestGateway, 'as'> = {
    get address() {
      return running().address;
    },
    get adminAddress() {
      return running().adminAddress;
    },
    get startLines() {
      return running().startLines;
    },
    get database() {
      return running().database;
    },
    logLines: () => running().logLines(),
    close: () => running().close(),
  };
  // Callers may be created before the gateway starts.
  return Object.assign(gateway, { as: createAs(gateway) });
}

/**
 * Starts a gateway with the given environment variables. With `shared` it uses another gateway's database and does
 * not drop it; `timeouts` replace the default ones.
 */
export async function startTestGateway(
  environment: Record<string, string> = {},
  shared?: TestDatabase,
  timeouts?: Timeouts,
): Promise<TestGateway> {
  const database = shared ?? (await createTestDatabase());
  const config = readConfig({ PORT: '0', ...settingsFor(database), ...environment });
  const opened = await openDatabase({
    url: config.databaseUrl ?? database.url,
    poolSize: config.databasePoolSize,
    timeoutMs: config.databaseTimeoutMs,
  });
  const lines: string[] = [];
  const sink = new Writable({
    write(chunk, _encoding, done) {
      const line = String(chunk).trimEnd();
      lines.push(line);
      // biome-ignore lint/suspicious/noConsole: Vitest shows it only if a test fails.
      if (ERROR.test(line)) console.error(line);
      done();
    },
  });
  const server = await startGateway(config, opened, createLog(config.logLevel, sink), timeouts);
  return {
    address: server.address,
    adminAddress: server.adminAddress ?? '',
    startLines: server.startLines,
    database,
    as: createAs(server),
    logLines: () => lines,
    async close() {
      await server.close(1000);
      await opened.close();
      if (shared === undefined) await database.drop();
    },
  };
}
