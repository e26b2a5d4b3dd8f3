import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Callers, signCallers } from '../bench/callers.ts';
import { type Contender, contenders, startContender } from '../bench/contenders.ts';
import { checkEquality } from '../bench/equality.ts';
import { fill } from '../bench/fill.ts';
import { createIssuer } from '../bench/issuer.ts';
import type { ServerProcess } from '../bench/server-process.ts';
import { listImplementations } from '../bench/workload.ts';
import { workloads } from '../bench/workloads.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';

let database: TestDatabase;
let client: pg.Client;
let callers: Callers;
const servers = new Map<Contender, ServerProcess>();
beforeAll(async () => {
  database = await createTestDatabase();
  client = new pg.Client({ connectionString: database.url });
  await client.connect();
  await fill(client, 200);
  const issuer = await createIssuer();
  callers = await signCallers(client, issuer);
  await Promise.all(
    contenders.map(async (name) => {
      servers.set(name, await startContender(name, { databaseUrl: database.url, issuer }));
    }),
  );
});
afterAll(async () => {
  await Promise.all([...servers.values()].map((server) => server.stop()));
  await client.end();
  await database.drop();
});

test.each(Object.entries(workloads))(
  'all contenders of the workload "%s" make the same changes and return the same data',
  async (_name, workload) => {
    const running = listImplementations(workload).flatMap(({ name, implementation }) => {
      const server = servers.get(name);
      return server === undefined ? [] : [{ title: name, implementation, server }];
    });

    expect(running.length).toBeGreaterThan(1);
    await checkEquality({ client, callers }, workload, running);
  },
);
