import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { useGateway } from '../support/gateway.ts';
import { publish } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';
import { openInboxes, shownIds, watch } from './client-inboxes.ts';
import { type ReplyProxy, startReplyProxy } from './reply-proxy.ts';

// Inboxes of one process share a stream like the tabs of a browser: Node.js has locks and broadcast channels too.

const gateway = useGateway();
let proxy: ReplyProxy;
beforeAll(async () => {
  proxy = await startReplyProxy(gateway);
});
afterAll(() => proxy.close());

const inboxes = openInboxes();
afterEach(() => {
  inboxes.close();
  vi.unstubAllGlobals();
  proxy.edit((_operation, part) => part);
});

/** Opens a tab of a user that shows the active notifications. */
async function openTab(user: string, options: Parameters<typeof inboxes.open>[2] = {}) {
  const inbox = inboxes.open(proxy, user, options);
  const list = inbox.notifications();
  watch(list);
  await eventually(() => expect(list.get().data).toBeDefined());
  await eventually(() => expect(inbox.connection.get().state).toBe('live'));
  return { inbox, list };
}

/** Returns how many streams were opened since this was called. */
function countStreams(): () => number {
  const before = proxy.operations.length;
  return () => proxy.operations.slice(before).filter((name) => name === 'AccountEvents').length;
}

test('ten tabs share one stream, and the next one resumes it when its tab is closed', async () => {
  const streams = countStreams();
  const tabs = await Promise.all(Array.from({ length: 10 }, () => openTab('shared')));
  expect(streams()).toBe(1);
  const first = await publish(gateway, 'shared');
  for (const { list } of tabs) await eventually(() => expect(shownIds(list)).toEqual([first.id]));

  const loads = () => proxy.operations.filter((name) => name === 'Notifications').length;
  const before = loads();
  // Whichever tab leads: after all but one are closed, the last one leads.
  for (const { inbox } of tabs.slice(0, 9)) {
    inbox.signOut();
    await eventually(() => expect(tabs[9]?.inbox.connection.get().state).toBe('live'));
  }
  const second = await publish(gateway, 'shared');
  await eventually(() => expect(tabs[9] && shownIds(tabs[9].list)).toEqual([second.id, first.id]));
  expect(loads()).toBe(before);
});

test('accounts share nothing: other users, scopes and organizations', async () => {
  const streams = countStreams();
  const sign = (claims: object) => signToken({ sub: 'apart', org_id: 'acme', ...claims });
  const claims = [{}, { scope: 'account:read' }, { org_id: 'other' }, { sub: 'apart-2' }];
  const tokens = await Promise.all(claims.map(sign));
  const tabs = await Promise.all(tokens.map((token) => openTab('apart', { getToken: () => token })));
  expect(streams()).toBe(4);
  const { id } = await publish(gateway, 'apart');
  for (const { list } of tabs.slice(0, 3)) await eventually(() => expect(shownIds(list)).toEqual([id]));
  const [, , , other] = tabs;
  const mark = await publish(gateway, 'apart-2');
  await eventually(() => expect(other && shownIds(other.list)).toEqual([mark.id]));
});

test('another account of the same tab leaves the stream to the others', async () => {
  let user = 'switch-1';
  const streams = countStreams();
  const switching = await openTab(user, { getToken: () => member(user) });
  const staying = await openTab('switch-1');
  expect(streams()).toBe(1);
  user = 'switch-2';
  await switching.list.reload();
  await eventually(() => expect(switching.inbox.connection.get().state).toBe('live'));
  await eventually(() => expect(streams()).toBe(3));
  const [first, second] = [await publish(gateway, 'switch-1'), await publish(gateway, 'switch-2')];
  await eventually(() => expect(shownIds(staying.list)).toEqual([first.id]));
  await eventually(() => expect(shownIds(switching.list)).toEqual([second.id]));
});

test('all tabs see that the connection is lost, and resume together', async () => {
  const tabs = [await openTab('lost'), await openTab('lost')];
  proxy.edit((operation, part) => (operation === 'AccountEvents' ? 'cut' : part));
  const { id } = await publish(gateway, 'lost');
  for (const { inbox } of tabs) {
    await eventually(() =>
      expect(inbox.connection.get()).toMatchObject({ state: 'waiting', error: { code: 'NETWORK_ERROR' } }),
    );
  }
  proxy.edit((_operation, part) => part);
  for (const { list } of tabs) await eventually(() => expect(shownIds(list)).toEqual([id]));
});

test('a tab without a valid token leaves the stream to one that has one', async () => {
  const token = await member('expelled');
  let fails = false;
  const getToken = () => {
    if (fails) throw new Error('The session has ended.');
    return token;
  };
  const leading = await openTab('expelled', { getToken });
  const following = await openTab('expelled');
  fails = true;
  proxy.edit((operation, part) => {
    if (operation !== 'AccountEvents') return part;
    proxy.edit((_operation, later) => later);
    return 'cut';
  });
  const { id } = await publish(gateway, 'expelled');
  for (const { list } of [leading, following]) await eventually(() => expect(shownIds(list)).toEqual([id]));
  await eventually(() => expect(leading.inbox.connection.get().state).toBe('live'));
});

test('a tab that has no valid token tries again, with growing delays', async () => {
  const token = await member('expelled-alone');
  const times: number[] = [];
  let fails = false;
  const getToken = () => {
    if (!fails) return token;
    times.push(Date.now());
    throw new Error('The session has ended.');
  };
  const { inbox } = await openTab('expelled-alone', { getToken });
  fails = true;
  proxy.edit((operation, part) => (operation === 'AccountEvents' ? 'cut' : part));
  await publish(gateway, 'expelled-alone');
  await eventually(() =>
    expect(inbox.connection.get()).toMatchObject({ state: 'waiting', error: { code: 'NO_TOKEN' } }),
  );
  await vi.waitFor(() => expect(times.length).toBeGreaterThan(2), 15_000);
  const [first = 0, second = 0, third = 0] = times;
  expect(second - first).toBeGreaterThan(900);
  expect(third - second).toBeGreaterThan(1900);
  fails = false;
  proxy.edit((_operation, part) => part);
  await vi.waitFor(() => expect(inbox.connection.get().state).toBe('live'), 15_000);
});

test('without locks, every tab has its own stream', async () => {
  vi.stubGlobal('navigator', {});
  const streams = countStreams();
  const tabs = [await openTab('alone'), await openTab('alone')];
  expect(streams()).toBe(2);
  const { id } = await publish(gateway, 'alone');
  for (const { list } of tabs) await eventually(() => expect(shownIds(list)).toEqual([id]));
});
