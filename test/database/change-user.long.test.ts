import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/database/database.ts';
import { answerNotification } from '../../src/notifications/answers/answer-notification.ts';
import { createTestDatabase, waitingSessions } from '../support/database.ts';
import { dependenciesOf, publishPlans } from '../support/drafts.ts';
import { eventually } from '../support/eventually.ts';
import { listEvents } from '../support/requests.ts';

/** A decision is stored within five seconds. */
const HOLD_SECONDS = 5.2;

test('a decision that waited more than five seconds for a lock is made again, by the time that it is then', async () => {
  const database = await createTestDatabase();
  const opened = await openDatabase({ url: database.url, poolSize: 2, timeoutMs: 20_000 });
  const locker = new pg.Client({ connectionString: database.url });
  await locker.connect();
  onTestFinished(async () => {
    await locker.end();
    await opened.close();
    await database.drop();
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
