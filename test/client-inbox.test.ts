import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { createInbox, type Inbox, type InboxOptions } from '../clients/typescript/src/index.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { publish } from './support/records.ts';
import { member } from './support/tokens.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const inboxes: Inbox[] = [];
afterEach(() => {
  for (const inbox of inboxes.splice(0)) inbox.signOut();
});

function open(user: string, options: Partial<InboxOptions> = {}): Inbox {
  const inbox = createInbox({ url: `${gateway.address}/graphql`, getToken: () => member(user), ...options });
  inboxes.push(inbox);
  return inbox;
}

test('loads a list', async () => {
  const { id } = await publish(gateway, 'a1');
  const inbox = open('a1');
  const list = inbox.notifications();
  list.subscribe(() => undefined);
  inbox.counts.subscribe(() => undefined);
  await eventually(() => expect(list.get().data?.notifications.map((one) => one.id)).toEqual([id]));
  await eventually(() => expect(inbox.counts.get().data?.total).toBe(1));
  const done = inbox.dismiss(id);
  expect(list.get().data?.notifications).toEqual([]);
  expect(inbox.counts.get().data?.total).toBe(0);
  await done;
  expect(list.get().data?.notifications).toEqual([]);
  expect(inbox.counts.get().data?.total).toBe(0);
  await inbox.restore(id);
  expect(list.get().data?.notifications.length).toEqual(1);
  expect(inbox.counts.get().data?.total).toBe(1);
  const outcome = await inbox.answer(id, { plan: { decision: 'APPROVE' } });
  expect(outcome).toMatchObject({ type: 'stored', notification: { id, status: 'RESOLVED' } });
  expect(await inbox.dismissAll()).toBe(0);
  await expect(inbox.dismiss('none')).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await inbox.updatePreferences([{ notificationKind: 'TASK_FAILED', emailEnabled: false }]);
  await inbox.connectEditor({ accessToken: 'x', expiresAt: '2030-01-01T00:00:00Z' });
});
