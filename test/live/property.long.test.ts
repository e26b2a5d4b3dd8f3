import fc from 'fast-check';
import { test } from 'vitest';
import { useGateway } from '../support/gateway.ts';
import { createInbox, currentCursor, dismissBy, type Inbox } from '../support/inbox.ts';
import { type Kind, payloads, publish, resolve } from '../support/records.ts';

const CLIENTS = 3;

const gateway = useGateway();

const kinds = Object.keys(payloads) as Kind[];

const task = fc.constantFrom('task-1', 'task-2');
const kind = fc.constantFrom(...kinds);
const client = fc.nat(CLIENTS - 1);

/** A change of a user's notifications, or an action of one of the user's clients. */
const operations = fc.oneof(
  { weight: 5, arbitrary: fc.record({ what: fc.constant('publish' as const), task, kind }) },
  fc.record({ what: fc.constant('resolve' as const), task }),
  fc.record({ what: fc.constant('dismiss' as const), which: fc.array(fc.nat(20), { maxLength: 3 }) }),
  fc.record({ what: fc.constant('dismissSeen' as const), kind }),
  fc.record({ what: fc.constant('leave' as const), client }),
  fc.record({ what: fc.constant('follow' as const), client }),
);
type Operation = typeof operations extends fc.Arbitrary<infer Value> ? Value : never;
type Session = { user: string; published: string[]; inboxes: readonly Inbox[] };

async function runOperation(operation: Operation, { user, published, inboxes }: Session): Promise<void> {
  switch (operation.what) {
    case 'publish': {
      const input = { task: { id: operation.task, projectId: 'project' } };
      published.push((await publish(gateway, user, operation.kind, input)).id);
      break;
    }
    case 'resolve':
      await resolve(gateway, user, operation.task);
      break;
    case 'dismiss': {
      const ids = operation.which.map((number) => published[number] ?? 'unknown');
      await dismissBy(gateway, user, { ids });
      break;
    }
    case 'dismissSeen': {
      const upTo = await currentCursor(gateway, user);
      const filter = { upTo, kinds: [operation.kind.toUpperCase()], openRequests: true };
      await dismissBy(gateway, user, { filter });
      break;
    }
    case 'leave':
      inboxes[operation.client]?.unsubscribe();
      break;
    case 'follow':
      inboxes[operation.client]?.unsubscribe();
      await inboxes[operation.client]?.subscribe(gateway);
  }
}

/** The operations of one list run concurrently, the lists in sequence; each client performs one operation at a time. */
const scripts = fc.array(
  fc.uniqueArray(operations, {
    minLength: 1,
    maxLength: 4,
    selector: (operation) => ('client' in operation ? operation.client : Symbol('any')),
  }),
  { minLength: 1, maxLength: 12 },
);

test('clients have the state of the database after any sequence of changes, disconnects and resumes', async () => {
  let users = 0;
  const session = async (script: Operation[][]) => {
    users += 1;
    const user = `user-${users}`;
    const start = await currentCursor(gateway, user);
    const inboxes = Array.from({ length: CLIENTS }, () => createInbox(user, start));
    await inboxes[0]?.subscribe(gateway);
    const published: string[] = [];
    for (const together of script) {
      await Promise.all(together.map((operation) => runOperation(operation, { user, published, inboxes })));
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
