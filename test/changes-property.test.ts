import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { Storm } from './support/storm.ts';
import { take } from './support/storm-actions.ts';
import { checkUser } from './support/storm-checks.ts';
import { type Step, steps } from './support/storm-steps.ts';

/** Two gateways on one database, so that changes come over many connections. */
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

/** Takes all steps at once, each of one of three users. */
async function takeAll(taken: readonly Step[]): Promise<Storm> {
  runs += 1;
  const users = [1, 2, 3].map((number) => `user-${runs}-${number}`);
  const storm = new Storm(gateways, users);
  await Promise.all(taken.map((step, index) => take(storm, step, index)));
  return storm;
}

test('whatever is changed at once, the result is the one that the times of the changes demand', async () => {
  const many = fc.array(steps, { minLength: 30, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(many, async (taken) => {
      const storm = await takeAll(taken);
      for (const user of storm.users) await checkUser(storm, user);
    }),
    { numRuns: 12, endOnFailure: true },
  );
});

test('users who are deleted meanwhile leave everything of one life or nothing', async () => {
  const many = fc.array(fc.oneof({ weight: 6, arbitrary: steps }, deletion), {
    minLength: 30,
    maxLength: 60,
  });
  await fc.assert(
    fc.asyncProperty(many, async (taken) => {
      const storm = await takeAll(taken);
      const { sql } = storm.database;
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
