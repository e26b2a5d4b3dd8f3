import { expect, test, vi } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { publish } from '../support/records.ts';
import { member, signToken } from '../support/tokens.ts';
import { awaitLive, expectShown, shownIds, useInboxes } from './client-inboxes.ts';

// Inboxes of one process share a stream like the tabs of a browser: Node.js has locks and broadcast channels too.

const { gateway, openList, edit, countOperations } = useInboxes();

/** Opens a tab of a user that shows the active notifications. */
async function openTab(user: string, options: Parameters<typeof openList>[1] = {}) {
  const { inbox, list } = openList(user, options);
  await eventually(() => expect(list.get().data).toBeDefined());
  await awaitLive(inbox);
  return { inbox, list };
}

/** Returns how many streams were opened since this was called. */
function countStreams(): () => number {
  const sent = countOperations();
  return () => sent().filter((name) => name === 'AccountEvents').length;
}

test('ten tabs share one stream, and the next one resumes it when its tab is closed', async () => {
  const streams = countStreams();
  const tabs = await Promise.all(Array.from({ length: 10 }, () => openTab('shared')));
  expect(streams()).toBe(1);
  const first = await publish(gateway, 'shared');
  for (const { list } of tabs) await expectShown(list, first.id);

  const sent = countOperations();
  // Whichever tab leads: after all but one are closed, the last one leads.
  for (const { inbox } of tabs.slice(0, 9)) {
    inbox.signOut();
    await eventually(() => expect(tabs[9]?.inbox.connection.get().state).toBe('live'));
  }
  const second = await publish(gateway, 'shared');
  await eventually(() => expect(tabs[9] && shownIds(tabs[9].list)).toEqual([second.id, first.id]));
  expect(sent()).not.toContain('Notifications');
});

test('accounts share nothing: other users, scopes and organizations', async () => {
  const streams = countStreams();
  const sign = (claims: object) => signToken({ sub: 'apart', org_id: 'acme', ...claims });
  const claims = [{}, { scope: 'account:read' }, { org_id: 'other' }, { sub: 'apart-2' }];
  const tokens = await Promise.all(claims.map(sign));
  const tabs = await Promise.all(tokens.map((token) => openTab('apart', { getToken: () => token })));
  expect(streams()).toBe(4);
  const { id } = await publish(gateway, 'apart');
  for (const { list } of tabs.slice(0, 3)) await expectShown(list, id);
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
  await awaitLive(switching.inbox);
  await eventually(() => expect(streams()).toBe(3));
  const [first, second] = [await publish(gateway, 'switch-1'), await publish(gateway, 'switch-2')];
  await expectShown(staying.list, first.id);
  await expectShown(switching.list, second.id);
});

test('all tabs see that the connection is lost, and resume together', async () => {
  const tabs = [await openTab('lost'), await openTab('lost')];
  edit('AccountEvents', () => 'cut');
  const { id } = await publish(gateway, 'lost');
  for (const { inbox } of tabs) {
    await eventually(() =>
      expect(inbox.connection.get()).toMatchObject({ state: 'waiting', error: { code: 'NETWORK_ERROR' } }),
    );
  }
  edit('AccountEvents', (part) => part);
  for (const { list } of tabs) await expectShown(list, id);
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
  edit('AccountEvents', () => {
    edit('AccountEvents', (later) => later);
    return 'cut';
  });
  const { id } = await publish(gateway, 'expelled');
  for (const { list } of [leading, following]) await expectShown(list, id);
  await awaitLive(leading.inbox);
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
  edit('AccountEvents', () => 'cut');
  await publish(gateway, 'expelled-alone');
  await eventually(() =>
    expect(inbox.connection.get()).toMatchObject({ state: 'waiting', error: { code: 'NO_TOKEN' } }),
  );
  await vi.waitFor(() => expect(times.length).toBeGreaterThan(2), 15_000);
  const [first = 0, second = 0, third = 0] = times;
  expect(second - first).toBeGreaterThan(900);
  expect(third - second).toBeGreaterThan(1900);
  fails = false;
  edit('AccountEvents', (part) => part);
  await vi.waitFor(() => expect(inbox.connection.get().state).toBe('live'), 15_000);
});

test('without locks, every tab has its own stream', async () => {
  vi.stubGlobal('navigator', {});
  const streams = countStreams();
  const tabs = [await openTab('alone'), await openTab('alone')];
  expect(streams()).toBe(2);
  const { id } = await publish(gateway, 'alone');
  for (const { list } of tabs) await expectShown(list, id);
});
