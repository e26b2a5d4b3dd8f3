import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  createInbox,
  type Inbox,
  type InboxOptions,
  type NotificationList,
  type Store,
} from '../clients/typescript/src/index.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { dismiss as dismissElsewhere } from './support/inbox.ts';
import { publish, putWorkspaces, workspaceInput } from './support/records.ts';
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

/** Subscribes to a store until the end of the test, and returns a function that reads it. */
function watch<State>(store: Store<State>): () => State {
  store.subscribe(() => undefined);
  return () => store.get();
}

const listIds = (list: NotificationList) => list.get().data?.notifications.map(({ id }) => id);

test('shows what exists, and then each change of notifications, counts, workspaces and editor', async () => {
  const first = await publish(gateway, 'live');
  const inbox = open('live');
  const list = inbox.notifications();
  const counts = watch(inbox.counts);
  const workspaces = watch(inbox.workspaces());
  const editorAuth = watch(inbox.editorAuth);
  watch(list);
  await eventually(() => expect(listIds(list)).toEqual([first.id]));
  await eventually(() => expect(counts().data?.total).toBe(1));
  await eventually(() => expect(workspaces().data).toEqual({ workspaces: [], hasMore: false }));
  await eventually(() => expect(editorAuth().data?.auth.type).toBe('NONE'));
  expect(inbox.connection.get()).toMatchObject({ state: 'live', error: undefined });

  const second = await publish(gateway, 'live', 'task_failed');
  await eventually(() => expect(listIds(list)).toEqual([second.id, first.id]));
  await eventually(() => expect(counts().data?.total).toBe(2));
  const workspace = workspaceInput();
  await putWorkspaces(gateway, 'live', [workspace]);
  await eventually(() => expect(workspaces().data?.workspaces).toMatchObject([{ id: workspace.id }]));
  await dismissElsewhere(gateway, 'live', [first.id]);
  await eventually(() => expect(listIds(list)).toEqual([second.id]));
  await eventually(() => expect(counts().data?.total).toBe(1));
  await inbox.connectEditor({ accessToken: 'editor-token' });
  expect(editorAuth().data?.auth.type).toBe('SUBSCRIPTION');
});
