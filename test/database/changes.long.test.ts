import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { answerNotification } from '../../src/notifications/answers/answer-notification.ts';
import { openTestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { listEvents } from '../support/requests.ts';
import { checkWorkload, deletions, type Operation, operations, runWorkload } from '../support/workload.ts';

describe('concurrent changes', () => {
  /** Two gateways on one database, so that changes use many connections. */
  const keys = { ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}` };
  const first = useGateway(keys);
  const gateways = [first, useGateway(keys, first)];

  let runs = 0;

  const runAll = (sequence: readonly Operation[]) => {
    runs += 1;
    return runWorkload(gateways, `user-${runs}`, sequence);
  };

  test('whatever their order, their timestamps decide the result', async () => {
    const many = fc.array(operations, { minLength: 30, maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(many, async (sequence) => checkWorkload(await runAll(sequence))),
      { numRuns: 12, endOnFailure: true },
    );
    const inconsistent = await first.database.sql(
      `select * from notification where
         (status = 'active' and (resolved_at is not null or dismissed_at is not null)) or
         (status = 'resolved' and (resolved_at is null or dismissed_at is not null)) or
         (status = 'dismissed' and dismissed_at is null) or
         ((resolved_at is null) <> (resolution is null)) or updated_at < created_at`,
    );
    expect(inconsistent).toEqual([]);
  });

  test('together with deletions of users leave no orphaned or inconsistent records', async () => {
    const many = fc.array(fc.oneof({ weight: 6, arbitrary: operations }, deletions), {
      minLength: 30,
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(many, async (sequence) => {
        const { sql } = (await runAll(sequence)).database;
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
});

/** A decision is stored within five seconds. */
const HOLD_SECONDS = 5.2;

test('a decision that waited more than five seconds for a lock is made again, by the time that it is then', async () => {
  const { database, locker, close } = await openTestDatabase(1);
  const opened = await openDatabase({ url: database.url, poolSize: 2, timeoutMs: 20_000 });
  onTestFinished(async () => {
    await opened.close();
    await close();
  });
  const one = dependenciesOf(opened);
  await publishPlans(one, 'alice', { id: 'n', expiresInSeconds: 600 });
  await locker.query('begin');
  await locker.query('select from user_revision for update');
  const given = { plan: { decision: 'approve', feedback: null } } as const;
  const answered = answerNotification(one, 'alice', { id: 'n', answerId: 'a', given, via: 'rest' }, []);
  await eventually(async () => expect(await waitingSessions(database)).toBe(1));
  // Expires after the answer was decided. The revision does not move.
  await locker.query(`update notification set expires_at = clock_timestamp() + interval '10 ms'`);
  await locker.query('select pg_sleep($1)', [HOLD_SECONDS]);
  await locker.query('commit');

  expect(await answered).toMatchObject({ state: 'expired', answer: null, isOwn: false, isNew: false });
  expect(await listEvents(database, 'alice')).toEqual(['expired n']);
});
