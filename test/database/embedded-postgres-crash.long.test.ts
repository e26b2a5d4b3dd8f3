import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { rest } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { copyCluster, makeFolder, removeFolder } from '../support/folder.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';
import { jwks, member } from '../support/tokens.ts';

/** Far less than clients wait; the database timeout is shorter. */
const MAX_MS = 5000;

let folder: string;
let gateway: GatewayProcess;
let token: string;
beforeAll(async () => {
  folder = await makeFolder();
  await copyCluster(join(folder, 'data'));
  token = await member('alice');
  gateway = await startGatewayProcess({
    DATA_DIR: join(folder, 'data'),
    DATABASE_TIMEOUT_MS: '1000',
    AUTH_JWKS: JSON.stringify(jwks),
    RATE_LIMIT_READS_PER_MINUTE: '0',
    GRAPHIQL: 'false',
    LOG_LEVEL: 'silent',
  });
});
afterAll(async () => {
  await gateway.stop();
  await removeFolder(folder);
});

async function killPostgres(signal: NodeJS.Signals = 'SIGKILL'): Promise<number> {
  const file = join(folder, 'data/postgresql/cluster/postmaster.pid');
  // The file can be that of a server which was just replaced.
  return eventually(async () => {
    const pid = Number.parseInt(await readFile(file, 'utf8'), 10);
    process.kill(pid, signal);
    return pid;
  });
}

async function list() {
  const started = performance.now();
  const { status, body } = await rest(gateway, 'GET', '/user/notifications', { token });
  expect(performance.now() - started).toBeLessThan(MAX_MS);
  return { status, ids: body.notifications?.map(({ id }: { id: string }) => id) };
}

const readiness = async () => (await fetch(`${gateway.address}/readyz`)).status;

test.each(['SIGKILL', 'SIGINT'] as const)(
  'restarts the embedded PostgreSQL after %s, without losing committed data',
  async (signal) => {
    const { id } = await publish(gateway, 'alice');
    await killPostgres(signal);
    const statuses = await eventually(async () => {
      expect(await readiness()).toBe(503);
      return Promise.all([list(), list()]);
    });
    for (const { status } of statuses) expect([200, 500]).toContain(status);
    const listed = await eventually(async () => {
      const reply = await list();
      expect(reply.status).toBe(200);
      return reply;
    });
    expect(listed.ids).toContain(id);
    await eventually(async () => expect(await readiness()).toBe(200));
  },
);

test('restarts it as often as it exits', { timeout: 60_000 }, async () => {
  const countRestarts = () =>
    gateway.stdout().match(/PostgreSQL exited unexpectedly and was restarted\./g)?.length ?? 0;
  for (const count of [1, 2, 3].map((more) => countRestarts() + more)) {
    await killPostgres();
    await eventually(() => expect(countRestarts()).toBe(count));
    await eventually(async () => expect(await readiness()).toBe(200));
  }
});

test('the gateway exits with the reason if PostgreSQL cannot be restarted', async () => {
  const version = join(folder, 'data/postgresql/cluster/PG_VERSION');
  await writeFile(version, '12\n');
  await killPostgres();
  const { status, stderr } = await gateway.ended;
  expect(status).toBe(1);
  expect(stderr).toMatch(/^PostgreSQL could not start on \/.*[\s\S]*incompatible with server/);
});
