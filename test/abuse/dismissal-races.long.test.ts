import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Caller, refused } from '../support/as.ts';
import { startTestGateway, type TestGateway, useGateway } from '../support/gateway.ts';
import { publish, resolve } from '../support/records.ts';

/*
 * A client dismisses notifications by guessed IDs while they are published, so that the dismissal meets every moment of
 * the publication. A dismissal succeeds only if the notification is dismissed, and is otherwise rejected with 404.
 */

const gateway = useGateway();
let withChannel: TestGateway;
beforeAll(async () => {
  // With a channel, a dismissal is a transaction. Nothing listens on the port.
  const email = { SMTP_URL: 'smtp://127.0.0.1:1', SMTP_FROM: 'no-reply@example.com', DELIVERY: 'false' };
  withChannel = await startTestGateway(email, gateway.database);
});
afterAll(() => withChannel.close());

const gateways = () => [gateway, withChannel];
const task = { id: 'task', projectId: 'project' };

/** Ways to dismiss the notification `n`. They return whether it was dismissed. */
const dismissBy = {
  async one(by: Caller): Promise<boolean> {
    const dismissed = await by.dismiss({ id: 'n' }).catch((refusal: unknown) => refusal);
    const isDone = !(dismissed instanceof Error);
    expect(dismissed).toMatchObject(isDone ? { status: 'DISMISSED' } : refused('NOT_FOUND'));
    return isDone;
  },
  async list(by: Caller): Promise<boolean> {
    const { notifications } = await by.dismissAll({ ids: ['n'] });
    for (const { status } of notifications) expect(status).toBe('DISMISSED');
    return notifications.length > 0;
  },
};

/** A dismissal that begins before the publication or after it, by turns of the event loop. */
const dismissal = fc.record({
  by: fc.constantFrom('one', 'list'),
  gateway: fc.nat(1),
  turns: fc.nat(40),
});

const race = fc.record({
  dismissals: fc.array(dismissal, { minLength: 1, maxLength: 6 }),
  /** Whether the user has other notifications, and so a row that changes lock. */
  isKnown: fc.boolean(),
  isResolved: fc.boolean(),
  gateway: fc.nat(1),
  turns: fc.nat(20),
});

let users = 0;

test('a notification is dismissed exactly if one of the dismissals during its publication succeeds', async () => {
  await fc.assert(
    fc.asyncProperty(race, async ({ dismissals, isKnown, isResolved, ...publication }) => {
      users += 1;
      const userId = `user-${users}`;
      if (isKnown) await publish(gateway, userId, 'task_failed', { id: 'other' });
      const publishing = afterTurns(publication.turns).then(async () => {
        const to = gateways()[publication.gateway] ?? gateway;
        await publish(to, userId, 'task_failed', { id: 'n', task });
        if (isResolved) await resolve(to, userId, task.id);
      });
      const results = await Promise.all(
        dismissals.map(async ({ by, gateway: index, turns }) => {
          await afterTurns(turns);
          return dismissBy[by]((gateways()[index] ?? gateway).as(userId));
        }),
      );
      await publishing;
      const rows = await gateway.database.sql(
        `select status = 'dismissed' as dismissed from notification where user_id = $1 and id = 'n'`,
        [userId],
      );
      expect(rows).toEqual([{ dismissed: results.includes(true) }]);
    }),
    { numRuns: 60, endOnFailure: true, interruptAfterTimeLimit: 15_000 },
  );
});

/** Waits for turns of the event loop, which also serves the gateways' requests. */
async function afterTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
