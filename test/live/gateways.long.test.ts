import { afterAll, beforeAll, test } from 'vitest';
import { settingsFor, useGateway } from '../support/gateway.ts';
import { changeNotifications, createInbox, currentCursor, type Inbox } from '../support/inbox.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/process.ts';
import { publish } from '../support/records.ts';

/* Several gateways on one database. The first one is a process, so that it can be killed. */

const settings = { LOG_LEVEL: 'error' };
const second = useGateway(settings);
const third = useGateway(settings, second);
let first: GatewayProcess;
/** A client of the first gateway. */
let bob: Inbox;

const startFirst = () => startGatewayProcess({ ...settingsFor(second.database), ...settings });
beforeAll(async () => {
  first = await startFirst();
  bob = createInbox('bob', await currentCursor(first, 'bob'));
  await bob.subscribe(first);
  await publish(first, 'bob');
  await bob.expectToConverge(second.database);
});
afterAll(() => first.stop('SIGKILL'));

test('subscribers of all gateways receive changes of any gateway, and miss nothing if one is killed during a burst', async () => {
  const gateways = [first, second, third];
  const inboxes = gateways.map(() => createInbox('alice'));
  await Promise.all(inboxes.map((inbox, index) => inbox.subscribe(gateways[index] ?? first)));
  for (const gateway of gateways) await publish(gateway, 'alice');
  await Promise.all(inboxes.map((inbox) => inbox.expectToConverge(second.database)));

  const [survivor = createInbox('alice')] = inboxes;
  let moved: Promise<unknown> = Promise.resolve();
  const burst = gateways.map(async (gateway, lane) => {
    for (let number = 0; number < 30; number += 1) {
      if (gateway === first && number === 10) {
        moved = first.stop('SIGKILL').then(() => survivor.subscribe(second));
      }
      // Whether the killed gateway committed a change is visible in the database only.
      await changeNotifications(gateway, 'alice', number * 3 + lane).catch((error: unknown) => {
        if (gateway !== first) throw error;
      });
    }
  });
  await Promise.all(burst);
  await moved;

  for (const inbox of inboxes) await inbox.expectToConverge(second.database);
  for (const inbox of inboxes) inbox.unsubscribe();
});

test('a disconnected client resumes with its cursor at any gateway, also after restarts', async () => {
  await first.stop('SIGKILL');
  bob.unsubscribe();
  for (let number = 0; number < 5; number += 1) await changeNotifications(second, 'bob', number);
  await bob.subscribe(second);
  await bob.expectToConverge(second.database);
  bob.unsubscribe();

  first = await startFirst();
  for (let number = 5; number < 10; number += 1) await changeNotifications(first, 'bob', number);
  await bob.subscribe(first);

  await bob.expectToConverge(second.database);
  bob.unsubscribe();
});
