import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { type Operation, operations, runWorkload } from '../support/workload.ts';
import { checkWorkload } from '../support/workload-checks.ts';

/** Two gateways on one database, so that changes use many connections. */
let gateways: TestGateway[];
beforeAll(async () => {
  const keys = { ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}` };
  const first = await startTestGateway(keys);
  gateways = [first, await startTestGateway(keys, first.database)];
});
afterAll(async () => {
  for (const gateway of gateways.toReversed()) await gateway.close();
});

let runs = 0;

const runAll = (sequence: readonly Operation[]) => {
  runs += 1;
  return runWorkload(gateways, `user-${runs}`, sequence);
};

test('whatever the order of concurrent changes, their timestamps decide the result', async () => {
  const many = fc.array(operations, { minLength: 30, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(many, async (sequence) => checkWorkload(await runAll(sequence))),
    { numRuns: 12, endOnFailure: true },
  );
});

test('deleting users concurrently with changes leaves no orphaned or inconsistent records', async () => {
  const many = fc.array(fc.oneof({ weight: 6, arbitrary: operations }, deletion), {
    minLength: 30,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(many, async (sequence) => {
      const workload = await runAll(sequence);
      const { sql } = workload.database;
      const orphans = await sql(
        `select user_id from notification union select user_id from notification_preference
         union select user_id from editor_credential union select user_id from workspace
         union select user_id from workspace_deletion union select user_id from task_resolution
         except select user_id from user_revision`,
      );
      expect(orphans).toEqual([]);
      const ahead = await sql(
        `select user_id from notification natural join user_revision where revision > notifications
         union select user_id from workspace natural join user_revision where revision > workspaces
         union select user_id from notification group by user_id, revision having count(*) > 1`,
      );
      expect(ahead).toEqual([]);
    }),
    { numRuns: 8, endOnFailure: true },
  );
});

const deletion = fc.record({ what: fc.constant('deleteUser' as const), user: fc.nat(2) });
