import fc from 'fast-check';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { settingsFor, useGateway } from '../support/gateway.ts';
import { changeNotifications, createInbox, currentCursor, dismiss, type Inbox } from '../support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { type Kind, payloads, publish, resolve } from '../support/records.ts';

/* Whatever happens, clients end up with the notifications that the database has. */

const CLIENTS = 3;

const settings = { LOG_LEVEL: 'error' };
const gateway = useGateway(settings);
/** A second gateway on the same database. */
const second = useGateway(settings, gateway);

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
      await dismiss(gateway, user, ids);
      break;
    }
    case 'dismissSeen': {
      const upTo = await currentCursor(gateway, user);
      const filter = { upTo, kinds: [operation.kind.toUpperCase()], openRequests: true };
      await dismiss(gateway, user, { filter });
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

describe('with a gateway that is killed', () => {
  let first: GatewayProcess;
  const startFirst = () => startGatewayProcess({ ...settingsFor(gateway.database), ...settings });
  beforeAll(async () => {
    first = await startFirst();
  });
  afterAll(() => first.stop('SIGKILL'));

  test('subscribers of all gateways receive changes of any gateway, and miss nothing of a burst', async () => {
    const gateways = [first, gateway, second];
    const inboxes = gateways.map(() => createInbox('alice'));
    await Promise.all(inboxes.map((inbox, index) => inbox.subscribe(gateways[index] ?? first)));
    for (const at of gateways) await publish(at, 'alice');
    await Promise.all(inboxes.map((inbox) => inbox.expectToConverge(gateway.database)));

    const [survivor = createInbox('alice')] = inboxes;
    let moved: Promise<unknown> = Promise.resolve();
    const burst = gateways.map(async (at, lane) => {
      for (let number = 0; number < 30; number += 1) {
        if (at === first && number === 10)
          moved = first.stop('SIGKILL').then(() => survivor.subscribe(gateway));
        // Whether the killed gateway committed a change is visible in the database only.
        await changeNotifications(at, 'alice', number * 3 + lane).catch((error: unknown) => {
          if (at !== first) throw error;
        });
      }
    });
    await Promise.all(burst);
    await moved;

    for (const inbox of inboxes) await inbox.expectToConverge(gateway.database);
    for (const inbox of inboxes) inbox.unsubscribe();
  });

  test('a disconnected client resumes with its cursor at any gateway, also after a restart', async () => {
    const inbox = createInbox('bob', await currentCursor(gateway, 'bob'));
    await inbox.subscribe(gateway);
    await publish(gateway, 'bob');
    await inbox.expectToConverge(gateway.database);
    inbox.unsubscribe();

    first = await startFirst();
    for (let number = 0; number < 10; number += 1) await changeNotifications(gateway, 'bob', number);
    await inbox.subscribe(first);
    await inbox.expectToConverge(gateway.database);
    inbox.unsubscribe();
  });
});
