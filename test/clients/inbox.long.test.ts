import { expect, test } from 'vitest';
import { GatewayError, type Inbox, type Loadable } from '../../clients/typescript/src/index.ts';
import { insertRecords } from '../support/bulk-records.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway } from '../support/gateway.ts';
import { dismiss as dismissElsewhere } from '../support/inbox.ts';
import { startProxy } from '../support/proxy.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { member, signToken } from '../support/tokens.ts';
import { awaitLive, expectShown, shownIds, useInboxes, watch } from './client-inboxes.ts';

const { gateway, open, openList, publishMany, close, edit, countOperations } = useInboxes();

const expectTotal = ({ counts }: Inbox, total: number) =>
  eventually(() => expect(counts.get().data?.total).toBe(total));

test('shows what exists, and then each change of notifications, counts, workspaces and editor', async () => {
  const first = await publish(gateway, 'live');
  const { inbox, list } = openList('live');
  watch(inbox.counts);
  const workspaces = watch(inbox.workspaces());
  const editorAuth = watch(inbox.editorAuth);
  await expectShown(list, first.id);
  await expectTotal(inbox, 1);
  await eventually(() => expect(workspaces().data).toEqual({ workspaces: [], hasMore: false }));
  await eventually(() => expect(editorAuth().data?.auth.type).toBe('NONE'));
  expect(inbox.connection.get()).toMatchObject({ state: 'live', error: undefined });

  const second = await publish(gateway, 'live', 'task_failed');
  await expectShown(list, second.id, first.id);
  await expectTotal(inbox, 2);
  const workspace = workspaceInput();
  await putWorkspaces(gateway, 'live', [workspace]);
  await eventually(() => expect(workspaces().data?.workspaces).toMatchObject([{ id: workspace.id }]));
  await dismissElsewhere(gateway, 'live', [first.id]);
  await expectShown(list, second.id);
  await expectTotal(inbox, 1);
  await inbox.connectEditor({ accessToken: 'editor-token' });
  expect(editorAuth().data?.auth.type).toBe('SUBSCRIPTION');
  await inbox.disconnectEditor();
  expect(editorAuth().data?.auth.type).toBe('NONE');
});

test('requests nothing before the first subscriber, and opens one stream for all', async () => {
  const inbox = open('strict');
  const list = inbox.notifications();
  const sent = countOperations();
  expect(inbox.connection.get().state).toBe('idle');
  expect(list.get()).toEqual({ data: undefined, isLoading: false, error: undefined });
  expect(inbox.notifications({ statuses: ['ACTIVE'] })).toBe(list);
  expect(sent()).toEqual([]);
  // React's strict mode mounts, unmounts and mounts again.
  list.subscribe(() => undefined)();
  watch(list);
  watch(inbox.counts);
  await eventually(() => expect(list.get().data).toEqual({ notifications: [], hasMore: false }));
  await eventually(() => expect(inbox.counts.get().data?.total).toBe(0));
  expect(sent().sort()).toEqual(['AccountEvents', 'Counts', 'Notifications']);
});

test('closes the stream when nobody has subscribed for a while, and resumes it without loading again', async () => {
  const inbox = open('idle');
  const list = inbox.notifications();
  const leave = list.subscribe(() => undefined);
  await eventually(() => expect(list.get().data).toBeDefined());
  leave();
  await eventually(() => expect(inbox.connection.get().state).toBe('idle'));
  const { id } = await publish(gateway, 'idle');
  const sent = countOperations();
  watch(list);
  await expectShown(list, id);
  expect(sent()).toEqual(['AccountEvents']);
});

test('shows pages, which do not become shorter when they are loaded again', async () => {
  await insertRecords(gateway.database, 'workspace', 250, { user_id: "'long-list'" });
  const list = open('long-list', { pageSize: 100 }).workspaces();
  const read = watch(list);
  await eventually(() => expect(read().data?.workspaces).toHaveLength(100));
  expect(read().data?.hasMore).toBe(true);
  await list.loadMore();
  await list.loadMore();
  const ids = read().data?.workspaces.map(({ id }) => id);
  expect(new Set(ids).size).toBe(250);
  expect(read().data?.hasMore).toBe(false);
  await list.reload();
  expect(read().data?.workspaces.map(({ id }) => id)).toEqual(ids);
});

test('shows changes at once, and undoes those that are refused', async () => {
  const { id } = await publish(gateway, 'changes');
  const { inbox, list } = openList('changes');
  watch(inbox.counts);
  await expectShown(list, id);
  await expectTotal(inbox, 1);

  const dismissing = inbox.dismiss(id);
  expect(shownIds(list)).toEqual([]);
  expect(inbox.counts.get().data?.total).toBe(0);
  // Sent after the dismissal, whose reply is still to come.
  await Promise.all([dismissing, inbox.restore(id)]);
  expect(shownIds(list)).toEqual([id]);
  expect(inbox.counts.get().data?.total).toBe(1);

  await expect(inbox.dismiss('unknown')).rejects.toMatchObject({ code: 'NOT_FOUND' });
});

test('undoes what the rate limit refuses, and reports when to try again', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_WRITES_PER_MINUTE: '1' }, gateway.database);
  const [older, newer] = [await publish(gateway, 'refused'), await publish(gateway, 'refused')];
  const { inbox, list } = openList('refused', {}, limited);
  watch(inbox.counts);
  await expectShown(list, newer.id, older.id);
  await expectTotal(inbox, 2);
  await inbox.dismiss(older.id);
  const refused = inbox.dismiss(newer.id);
  expect(shownIds(list)).toEqual([]);
  const before = Date.now();
  const error = await refused.catch((thrown: unknown) => thrown);
  if (!(error instanceof GatewayError)) throw error;
  expect(error).toMatchObject({ code: 'RATE_LIMITED', retryAfter: expect.any(Number) });
  expect(error.retryAt).toBeGreaterThanOrEqual(before + 1000 * Number(error.retryAfter));
  expect(shownIds(list)).toEqual([newer.id]);
  expect(inbox.counts.get().data?.total).toBe(1);
  close();
  await limited.close();
});

test('dismisses all that the latest counts include, open requests only if told so', async () => {
  await publish(gateway, 'all', 'task_failed');
  await publish(gateway, 'all', 'plan_requested');
  const { inbox, list } = openList('all', { pageSize: 1 });
  watch(inbox.counts);
  await eventually(() => expect(shownIds(list)).toHaveLength(1));
  await expectTotal(inbox, 2);
  expect(await inbox.countActive()).toEqual({ total: 2, openRequests: 1 });
  expect(await inbox.dismissAll({ kinds: ['TASK_FAILED'] })).toMatchObject({ count: 1 });
  expect(inbox.counts.get().data?.total).toBe(1);
  expect(await inbox.dismissAll()).toMatchObject({ count: 0 });
  expect(shownIds(list)).toHaveLength(1);
  const dismissing = inbox.dismissAll({ openRequests: true });
  expect(inbox.counts.get().data).toMatchObject({ total: 0, openRequests: 1 });
  expect(shownIds(list)).toEqual([]);
  expect(await dismissing).toMatchObject({ count: 1 });
  expect(inbox.counts.get().data).toMatchObject({ total: 0, openRequests: 1 });
  expect(shownIds(list)).toEqual([]);
});

test('undoes a dismissal of all or of some, however many are loaded', async () => {
  const ids = await publishMany('undo', 120, 'task_failed');
  const { inbox, list } = openList('undo', { pageSize: 40 });
  watch(inbox.counts);
  await expectShown(list, ...ids.slice(0, 40));
  await expectTotal(inbox, 120);
  const all = await inbox.dismissAll();
  expect(all.count).toBe(120);
  await expectTotal(inbox, 0);
  const undoing = all.undo();
  expect(shownIds(list)).toEqual(ids.slice(0, 40));
  await undoing;
  await expectTotal(inbox, 120);

  const some = await inbox.dismissMany(ids.slice(1, 3));
  expect(some.count).toBe(2);
  expect(shownIds(list)?.slice(0, 2)).toEqual([ids[0], ids[3]]);
  await some.undo();
  expect(shownIds(list)?.slice(0, 4)).toEqual(ids.slice(0, 4));
});

test('reports what arrives and what is settled, without any list, but not its own answers', async () => {
  const [one, other] = [await publish(gateway, 'news'), await publish(gateway, 'news')];
  const inbox = open('news');
  const news: string[] = [];
  const ends = (['arrived', 'settled'] as const).map((type) =>
    inbox.on(type, (cards) => news.push(...cards.map(({ id }) => `${type} ${id}`))),
  );
  await awaitLive(inbox);
  const arrived = await publish(gateway, 'news', 'task_failed');
  await eventually(() => expect(news).toEqual([`arrived ${arrived.id}`]));
  await inbox.answer(one.id, { plan: { decision: 'APPROVE' } });
  await inbox.dismiss(arrived.id);
  await inbox.restore(arrived.id);
  await answer(gateway, 'news', { id: other.id, ...answers.approve });
  await acknowledge(gateway, 'news', other.id);
  const last = await publish(gateway, 'news', 'task_failed');
  await eventually(() =>
    expect(news).toEqual([`arrived ${arrived.id}`, `settled ${other.id}`, `arrived ${last.id}`]),
  );
  for (const end of ends) end();
  await eventually(() => expect(inbox.connection.get().state).toBe('idle'));
});

test('shows what a server has loaded until it is loaded again, and only to the same account', async () => {
  const { id } = await publish(gateway, 'server');
  const server = open('server');
  await Promise.all([server.notifications().reload(), server.counts.reload(), server.preferences.reload()]);
  expect(server.connection.get().state).toBe('idle');
  const initialData = JSON.parse(JSON.stringify(server.dehydrate()));
  const inbox = open('server', { initialData });
  expect(inbox.notifications().getInitial().data?.notifications).toMatchObject([{ id }]);
  expect(inbox.counts.get().data?.total).toBe(1);
  expect(inbox.preferences.get().data).toHaveLength(4);
  const list = inbox.notifications();
  watch(list);
  const next = await publish(gateway, 'server');
  await expectShown(list, next.id, id);

  const strange = open('other', { initialData });
  watch(strange.notifications());
  await eventually(() => expect(strange.notifications().get().data?.notifications).toEqual([]));
});

test('shows one notification, or that it does not exist, and where it was sent', async () => {
  const { id } = await publish(gateway, 'one', 'task_failed');
  const inbox = open('one');
  const found = watch(inbox.notification(id));
  const missing = watch(inbox.notification('missing'));
  const deliveries = watch(inbox.deliveries(id));
  await eventually(() => expect(found().data).toMatchObject({ id, payload: { message: 'It broke' } }));
  await eventually(() => expect(missing()).toEqual({ data: null, isLoading: false, error: undefined }));
  await eventually(() => expect(deliveries().data?.map(({ state }) => state)).toContain('SKIPPED'));
  await publish(gateway, 'one', 'task_failed', { id: 'missing' });
  await eventually(() => expect(missing().data).toMatchObject({ id: 'missing' }));
});

test('queries a notification only if events have not kept it up to date', async () => {
  const { id } = await publish(gateway, 'fresh', 'task_failed');
  const { inbox, list } = openList('fresh');
  await expectShown(list, id);
  await awaitLive(inbox);
  const sent = countOperations();
  const shown = watch(inbox.notification(id));
  expect(shown()).toMatchObject({ data: { id, status: 'ACTIVE' }, isLoading: false });
  await dismissElsewhere(gateway, 'fresh', [id]);
  await eventually(() => expect(shown().data?.status).toBe('DISMISSED'));
  const gone = watch(inbox.notification('gone'));
  await eventually(() => expect(gone().data).toBeNull());
  expect(sent()).toEqual(['Notification']);

  // The list is loaded again after the gap, but it no longer has the notification.
  edit('AccountEvents', (part) => part.replaceAll('"NotificationEvent"', '"FutureEvent"'));
  const { id: missed } = await publish(gateway, 'fresh');
  await expectShown(list, missed);
  await eventually(() => expect(sent().filter((name) => name === 'Notification')).toHaveLength(3));
});

test('forgets dismissed notifications that no list shows, except for the latest', async () => {
  const { inbox, list } = openList('forgets');
  const all = inbox.notifications({});
  await eventually(() => expect(list.get().data).toBeDefined());
  const leave = all.subscribe(() => undefined);
  await eventually(() => expect(all.get().data).toBeDefined());
  leave();
  const published: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const ids = await publishMany('forgets', 100, 'task_failed');
    await expectShown(list, ...ids);
    await dismissElsewhere(gateway, 'forgets', ids);
    await expectShown(list);
    published.unshift(...ids);
  }
  const [latest = '', earliest = ''] = [published[0], published.at(-1)];
  expect(inbox.notification(latest).get().data?.status).toBe('DISMISSED');
  expect(inbox.notification(earliest).get().data).toBeUndefined();
  expect(all.get().data).toBeUndefined();

  // They are loaded when they are shown again.
  const notification = watch(inbox.notification(earliest));
  watch(all);
  await eventually(() => expect(notification().data?.status).toBe('DISMISSED'));
  await expectShown(all, ...published.slice(0, 20));
});

test('shows preferences, and changes of them at once', async () => {
  const inbox = open('preferences');
  const preferences = watch(inbox.preferences);
  await eventually(() => expect(preferences().data).toHaveLength(4));
  const emails = () => preferences().data?.map(({ emailEnabled }) => emailEnabled);
  const changing = inbox.updatePreferences([{ emailEnabled: false }]);
  expect(emails()).toEqual([false, false, false, false]);
  const next = inbox.updatePreferences([{ notificationKind: 'PLAN_REQUESTED', emailEnabled: true }]);
  await Promise.all([changing, next]);
  expect(emails()).toEqual([true, false, false, false]);
});

test('loads preferences again when they are shown again, because no events change them', async () => {
  const { preferences } = open('shown-again');
  const emails = () => preferences.get().data?.map(({ emailEnabled }) => emailEnabled);
  const hide = preferences.subscribe(() => undefined);
  await eventually(() => expect(emails()).toEqual([true, true, true, true]));
  hide();
  await open('shown-again').updatePreferences([{ emailEnabled: false }]);

  preferences.subscribe(() => undefined);
  await eventually(() => expect(emails()).toEqual([false, false, false, false]));
});

test('loses nothing while the gateway is restarted', async () => {
  const { database } = gateway;
  const restarted = await startTestGateway({}, database);
  const middle = await startProxy(Number(new URL(restarted.address).port));
  const { inbox, list } = openList('restart', {}, { address: `http://127.0.0.1:${middle.port}` });
  await eventually(() => expect(list.get().data).toBeDefined());
  const states: string[] = [];
  const attempts: (string | undefined)[] = [];
  inbox.connection.subscribe(() => {
    const { state, retryAt, error } = inbox.connection.get();
    states.push(state);
    if (state === 'waiting' && retryAt === undefined) attempts.push(error?.code);
  });
  await restarted.close();
  await eventually(() => expect(attempts).not.toEqual([]));
  const missed = await publish(gateway, 'restart');
  const next = await startTestGateway({}, database);
  middle.setTarget(Number(new URL(next.address).port));
  await expectShown(list, missed.id);
  expect(states).toContain('waiting');
  expect(states.at(-1)).toBe('live');
  expect(attempts).not.toContain(undefined);
  expect(inbox.connection.get().error).toBeUndefined();
  close();
  await middle.close();
  await next.close();
});

test('replaces a token that expires without loading anything again', async () => {
  const rejected: (string | undefined)[] = [];
  let token = '';
  const getToken = async (refused?: string) => {
    if (refused !== undefined) rejected.push(refused);
    if (token === '' || refused === token) {
      const exp = Math.floor(Date.now() / 1000) + (token === '' ? 3 : 3600);
      token = await signToken({ sub: 'expiry', org_id: 'acme', exp });
    }
    return token;
  };
  const { inbox, list } = openList('expiry', { getToken });
  await eventually(() => expect(list.get().data).toBeDefined());
  const first = token;
  const sent = countOperations();
  await eventually(() => expect(sent()).toContain('AccountEvents'));
  await awaitLive(inbox);
  const { id } = await publish(gateway, 'expiry');
  await expectShown(list, id);
  expect(rejected).toEqual([first]);
  expect(sent()).toEqual(['AccountEvents']);
});

test('forgets everything when the token is of another account', async () => {
  const [first, second] = [await publish(gateway, 'account-1'), await publish(gateway, 'account-2')];
  let user = 'account-1';
  const { inbox, list } = openList(user, { getToken: () => member(user) });
  await expectShown(list, first.id);
  const seen: (readonly string[] | undefined)[] = [];
  list.subscribe(() => seen.push(shownIds(list)));
  user = 'account-2';
  await expect(inbox.dismiss(second.id)).rejects.toMatchObject({ code: 'SIGNED_OUT' });
  await expectShown(list, second.id);
  expect(seen).toContain(undefined);
  const later = await publish(gateway, 'account-2');
  await expectShown(list, later.id, second.id);
});

test('forgets everything after signing out', async () => {
  await publish(gateway, 'leaving');
  const { inbox, list } = openList('leaving');
  await eventually(() => expect(shownIds(list)).toHaveLength(1));
  void inbox.signOut();
  const sent = countOperations();
  await eventually(() =>
    expect(list.get()).toMatchObject({ data: undefined, error: { code: 'SIGNED_OUT' } }),
  );
  expect(inbox.connection.get().state).toBe('signedOut');
  await expect(inbox.dismiss('any')).rejects.toMatchObject({ code: 'SIGNED_OUT' });
  await inbox.counts.reload();
  expect(inbox.counts.get().error?.code).toBe('SIGNED_OUT');
  expect(sent()).toEqual([]);
});

test('waits for the rate limit, and says until when', async () => {
  const limited = await startTestGateway({ RATE_LIMIT_READS_PER_MINUTE: '2' });
  const inbox = open('limited', {}, limited);
  const resources = [inbox.notifications(), inbox.counts, inbox.workspaces(), inbox.editorAuth];
  const states = resources.map((resource) => watch<Loadable<unknown>>(resource));
  await eventually(() => {
    const refused = states.map((state) => state()).find(({ error }) => error?.code === 'RATE_LIMITED');
    expect(refused?.error?.retryAt).toBeGreaterThan(Date.now());
    expect(refused?.isLoading).toBe(true);
  });
  close();
  await limited.close();
});

test('tries again what gets no reply', async () => {
  const { id } = await publish(gateway, 'retry');
  const inbox = open('retry');
  let failures = 0;
  edit('Notifications', (part) => {
    failures += 1;
    return failures === 1 ? 'cut' : part;
  });
  const list = inbox.notifications();
  const errors: unknown[] = [];
  list.subscribe(() => errors.push(list.get().error?.code));
  await expectShown(list, id);
  expect(errors).toContain('NETWORK_ERROR');
  expect(list.get().error).toBeUndefined();
});

test('begins anew after the user was deleted', async () => {
  await publish(gateway, 'deleted');
  const { list } = openList('deleted');
  await eventually(() => expect(shownIds(list)).toHaveLength(1));
  await deleteUser(gateway, 'deleted');
  await expectShown(list);
  const { id } = await publish(gateway, 'deleted');
  await expectShown(list, id);
});

test('reports errors of the gateway, and replies that are none', async () => {
  const inbox = open('errors');
  const document = { text: 'query ($id: ID!) { notification(id: $id) { __typename } }' };
  const error = await inbox.request(document, { id: '' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    name: 'GatewayError',
    code: 'VALIDATION_FAILED',
    fieldErrors: [{ location: 'id', message: expect.any(String) }],
    requestId: expect.any(String),
  });
  const page = open('errors', {}, { address: `${gateway.address}/none?` });
  await expect(page.request(document, { id: '1' })).rejects.toMatchObject({ code: 'INVALID_REPLY' });
  const refused = open('errors', { getToken: () => 'no token' });
  await expect(refused.request(document, { id: '1' })).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
});
