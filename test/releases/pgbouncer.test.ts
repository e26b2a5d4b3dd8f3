import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor, startTestGateway } from '../support/gateway.ts';
import { runProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import {
  type DebianServer,
  hasPgBouncer,
  startPgBouncer,
  tracksPreparedStatements,
} from './debian-programs.ts';

const NO_PREPARED_STATEMENTS =
  'prepared statements fail: connect directly, or through PgBouncer in session mode, or 1.21 with max_prepared_statements';

describe.skipIf(!hasPgBouncer)('PgBouncer', () => {
  let folder: string;
  let database: TestDatabase;
  let pooler: DebianServer | undefined;
  beforeAll(async () => {
    folder = await makeFolder();
    database = await createTestDatabase();
  });
  afterEach(() => pooler?.stop());
  afterAll(async () => {
    await database.drop();
    await removeFolder(folder);
  });

  async function startBehind(settings: Record<string, string>) {
    pooler = await startPgBouncer(folder, database.url, settings);
    return startTestGateway({ DATABASE_URL: pooler.url }, database);
  }

  async function askReadiness(address: string) {
    const response = await fetch(`${address}/readyz`);
    const { checks } = await response.json();
    return { status: response.status, database: checks.database };
  }

  test('/readyz is not ready if the pooler loses prepared statements', async () => {
    // With several server connections, the check may succeed by chance until the gateway is busy.
    const settings = { pool_mode: 'transaction', default_pool_size: '1' };
    const untracked = tracksPreparedStatements ? { max_prepared_statements: '0' } : {};
    const gateway = await startBehind({ ...settings, ...untracked });
    for (let probe = 1; probe <= 3; probe += 1) {
      expect(await askReadiness(gateway.address)).toEqual({ status: 503, database: NO_PREPARED_STATEMENTS });
    }
    await gateway.close();
  });

  test.each([
    { pool_mode: 'session', default_pool_size: '40' },
    ...(tracksPreparedStatements ? [{ pool_mode: 'transaction', max_prepared_statements: '200' }] : []),
  ])(
    '/readyz is ready, and requests are served, if the pooler keeps prepared statements: %j',
    async (settings) => {
      const gateway = await startBehind(settings);
      for (let probe = 1; probe <= 3; probe += 1) {
        expect(await askReadiness(gateway.address)).toEqual({ status: 200, database: 'ok' });
      }
      expect(await publish(gateway, 'alice')).toMatchObject({ id: expect.any(String) });
      await gateway.close();
    },
  );

  test('the start fails with one line if the pooler rejects the startup parameters', async () => {
    pooler = await startPgBouncer(folder, database.url, { ignore_startup_parameters: '' });
    const { host, pathname } = new URL(pooler.url);
    const { stderr, ...ended } = await runProcess('src/main.ts', { ...settingsFor(pooler), PORT: '0' });
    expect(ended).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).toContain(`Connecting to the database "${pathname.slice(1)}" at ${host} failed: `);
    expect(stderr).toMatch(/unsupported startup parameter: \w+\. Configure PgBouncer as described in /);
  });
});
