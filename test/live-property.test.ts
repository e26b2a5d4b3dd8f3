import fc from 'fast-check';
import { afterAll, beforeAll, test } from 'vitest';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { createInbox, currentCursor, dismiss, dismissBy, type Inbox } from './support/inbox.ts';
import { type Kind, payloads, publish, resolve } from './support/records.ts';

const CLIENTS = 3;

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const kinds = Object.keys(payloads) as Kind[];

/** What is done to a user's notifications, or by one of its clients. */
const steps = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      what: fc.constant('publish' as const),
      task: fc.constantFrom('task-1', 'task-2'),
      kind: fc.constantFrom(...kinds),
    }),
  },
  fc.record({ what: fc.constant('resolve' as const), task: fc.constantFrom('task-1', 'task-2') }),
  fc.record({ what: fc.constant('dismiss' as const), which: fc.array(fc.nat(20), { maxLength: 3 }) }),
  fc.record({ what: fc.constant('dismissSeen' as const), kind: fc.constantFrom(...kinds) }),
  fc.record({ what: fc.constant('leave' as const), client: fc.nat(CLIENTS - 1) }),
  fc.record({ what: fc.constant('follow' as const), client: fc.nat(CLIENTS - 1) }),
);
type Step = typeof steps extends fc.Arbitrary<infer Value> ? Value : never;
type Session = { user: string; published: string[]; inboxes: readonly Inbox[] };

async function take(step: Step, { user, published, inboxes }: Session): Promise<void> {
  switch (step.what) {
    case 'publish': {
      const input = { task: { id: step.task, projectId: 'project' } };
      published.push((await publish(gateway, user, step.kind, input)).id);
      break;
    }
    case 'resolve':
      await resolve(gateway, user, step.task);
      break;
    case 'dismiss':
      await dismiss(
        gateway,
        user,
        step.which.map((number) => published[number] ?? 'unknown'),
      );
      break;
    case 'dismissSeen':
      await dismissBy(gateway, user, {
        filter: { upTo: await currentCursor(gateway, user), kinds: [step.kind.toUpperCase()] },
      });
      break;
    case 'leave':
      inboxes[step.client]?.unsubscribe();
      break;
    case 'follow':
      inboxes[step.client]?.unsubscribe();
      await inboxes[step.client]?.subscribe(gateway);
  }
}

/** Steps of one list are taken at the same time, the lists one after another; a client does one thing at a time. */
const scripts = fc.array(
  fc.uniqueArray(steps, {
    minLength: 1,
    maxLength: 4,
    selector: (step) => ('client' in step ? step.client : Symbol('any')),
  }),
  { minLength: 1, maxLength: 12 },
);

test('whatever happens, and however often a client leaves and goes on: it ends with what the database holds', async () => {
  let users = 0;
  const session = async (script: Step[][]) => {
    users += 1;
    const user = `user-${users}`;
    const start = await currentCursor(gateway, user);
    const inboxes = Array.from({ length: CLIENTS }, () => createInbox(user, start));
    await inboxes[0]?.subscribe(gateway);
    const published: string[] = [];
    for (const together of script) {
      await Promise.all(together.map((step) => take(step, { user, published, inboxes })));
    }
    for (const inbox of inboxes) {
      inbox.unsubscribe();
      await inbox.subscribe(gateway);
      await inbox.expectToConverge(gateway.database);
      inbox.unsubscribe();
    }
  };

  await fc.assert(fc.asyncProperty(scripts, session), { numRuns: 12 });
});
