import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import {
  credentialVersion,
  payloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { platform } from '../support/tokens.ts';
import { findBarriers } from './axe.ts';
import { ask, asked, card, describeInboxApp, refuse, waitForLive } from './inbox-app.ts';

describeInboxApp('of notifications', ({ gateway, serve, open, openFor }) => {
  const expectTitles = (page: Page, ...titles: string[]) =>
    eventually(async () => expect(await page.locator('.wa-card-title').allTextContents()).toEqual(titles));
  const expectBadge = (page: Page, total: number) =>
    eventually(async () => expect(await page.locator('.badge').textContent()).toBe(`${total}`));
  const publishFailures = async (user: string, ...titles: string[]) => {
    for (const title of titles) await publish(gateway, user, 'task_failed', { title });
  };

  test('shows a notification as it is published, and counts it', async () => {
    const page = await openFor('live');
    await page.getByText('All caught up').waitFor();
    await waitForLive(page);
    const task = { id: 'task-of-live', projectId: 'shop' };
    await publish(gateway, 'live', 'task_failed', {
      title: 'The build failed',
      task,
      prUrl: 'https://git.example.com/pulls/1',
      projectRepoUrl: 'https://git.example.com/shop.git',
    });
    const failure = card(page, 'The build failed');
    await failure.getByText('It broke').waitFor();
    const links = failure.locator('.wa-card-foot a');
    expect(await links.allTextContents()).toEqual(['Pull request', 'Repository']);
    await expectBadge(page, 1);
    await failure.getByText('Messages sent').click();
    await failure.getByText('Email').waitFor();
    // Nobody answers a failure.
    await resolve(gateway, 'live', task.id);
    await failure.getByText('Settled', { exact: true }).waitFor();
    await publish(gateway, 'live', 'plan_requested', { title: 'A plan', task });
    await card(page, 'A plan').waitFor();
    await resolve(gateway, 'live', task.id);
    await card(page, 'A plan').getByText('Answered elsewhere').waitFor();
    await card(page, 'A plan').getByText('It was answered outside of this inbox.').waitFor();
  });

  test('asks before all are dismissed, leaves open requests by default, and undoes it', async () => {
    const titles = Array.from({ length: 25 }, (_, number) => `Failure ${number}`);
    await publishFailures('everything', ...titles);
    await publish(gateway, 'everything', 'plan_requested', { title: 'A plan' });
    const page = await openFor('everything');
    await expectBadge(page, 26);
    await page.getByRole('button', { name: 'Dismiss all' }).click();
    const dialog = page.getByRole('dialog', { name: 'Dismiss 25 notifications?' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await expectBadge(page, 26);
    await page.getByRole('button', { name: 'Dismiss all' }).click();
    await dialog.getByRole('button', { name: 'Dismiss 25' }).click();
    await expectBadge(page, 1);
    await expectTitles(page, 'A plan');
    await page.getByText('Dismissed 25 notifications.').waitFor();
    await page.keyboard.press('u');
    await expectBadge(page, 26);

    await page.getByRole('button', { name: 'Dismiss all' }).click();
    await page.getByLabel('Also dismiss the request that waits for you').check();
    await page.getByRole('button', { name: 'Dismiss 26' }).click();
    await page.getByText('All caught up').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expectBadge(page, 26);
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByRole('button', { name: 'Dismiss: A plan' }).click();
    await page.getByRole('status').getByText('Dismissed: A plan').waitFor();
    await card(page, 'A plan').getByRole('button', { name: 'Restore' }).click();
    await expectBadge(page, 26);
  });

  test('selects, dismisses, undoes, filters and answers with the keyboard', async () => {
    await publishFailures('shortcuts', 'One', 'Two');
    const other = { id: 'task-of-other', projectId: 'other' };
    await publish(gateway, 'shortcuts', 'plan_requested', { title: 'Plan', task: other });
    const page = await openFor('shortcuts');
    await card(page, 'Plan').waitFor();
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    await press('j', 'j', 'k');
    expect(await focused()).toBe('Plan');
    await press('a');
    expect(await focused()).toBe('Approve');
    await press('j', 'e');
    await expectTitles(page, 'Plan', 'One');
    expect(await focused()).toBe('One');
    await press('u');
    await expectTitles(page, 'Plan', 'Two', 'One');
    await press('x', 'j', 'x');
    await page.getByRole('group', { name: '2 selected' }).getByRole('button', { name: 'Dismiss' }).click();
    await expectTitles(page, 'Plan');
    await press('u');
    await expectTitles(page, 'Plan', 'Two', 'One');

    await page.getByLabel('Kind').selectOption('Failure');
    await expectTitles(page, 'Two', 'One');
    await page.getByLabel('Project').selectOption('other');
    await page.getByText('Nothing matches the filters').waitFor();
    await page.getByLabel('Kind').selectOption('All kinds');
    await expectTitles(page, 'Plan');
    await press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Next notification').waitFor();
    await press('Escape');
    // Letters that are typed are no shortcuts.
    await card(page, 'Plan').getByRole('button', { name: 'Request changes' }).click();
    await page.keyboard.type('june');
    expect(await page.getByLabel('What should change?').inputValue()).toBe('june');
  });

  test('announces what arrives and what is settled elsewhere, and counts it in the title', async () => {
    const { id } = await publish(gateway, 'news', 'plan_requested', { title: 'Open' });
    const page = await openFor('news', 'workspaces');
    await waitForLive(page);
    const setVisibility = (state: string) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, state);
    await setVisibility('hidden');
    await publishFailures('news', 'The build failed');
    await page.getByRole('status').getByText('New: The build failed').waitFor();
    await eventually(async () => expect(await page.title()).toBe('(1) Workspaces'));
    await setVisibility('visible');
    await eventually(async () => expect(await page.title()).toBe('Workspaces'));
    await answer(gateway, 'news', { id, ...answers.approve });
    await page.getByRole('status').getByText('Answered by news: Open').waitFor();
  });

  test('is live, offline or unreachable, one at a time and within 5 seconds, and shows what it missed', async () => {
    await publishFailures('connection', 'Before');
    const app = await serve('connection');
    const { page } = await open(app);
    const states = { live: 'Live', offline: 'You are offline.', waiting: 'The server cannot be reached.' };
    const becomes = async (state: keyof typeof states) => {
      await page.locator('header').getByText(states[state]).waitFor({ timeout: 5000 });
      const text = await page.locator('header .wa-connection').textContent();
      expect(Object.values(states).filter((one) => text?.includes(one))).toEqual([states[state]]);
    };
    await becomes('live');
    await page.context().setOffline(true);
    await becomes('offline');
    await page.context().setOffline(false);
    await becomes('live');
    app.setGateway('http://127.0.0.1:9');
    app.endStreams();
    await becomes('waiting');
    await card(page, 'Before').waitFor();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    const failure = page.getByRole('alert');
    await failure.getByText(/The server cannot be reached\. .*Trying again in \d+ s\./).waitFor();
    await publishFailures('connection', 'Meanwhile');
    app.setGateway(gateway.address);
    await page.locator('header').getByRole('button', { name: 'Try now' }).click();
    await becomes('live');
    await page.getByText('No workspaces').waitFor();
    await page.getByRole('link', { name: 'Inbox' }).click();
    await expectTitles(page, 'Meanwhile', 'Before');
  });

  test('keeps the focus in the page when the button that has it vanishes', async () => {
    await publishFailures('focus', 'First', 'Second');
    const page = await openFor('focus');
    const press = (name: string) => page.getByRole('button', { name, exact: true }).press('Enter');
    const expectFocus = async (title: string) =>
      expect(await page.locator('h1:focus, h2:focus').allTextContents()).toEqual([title]);
    await press('Dismiss: Second');
    await expectTitles(page, 'First');
    await press('Undo');
    await expectTitles(page, 'Second', 'First');
    await expectFocus('Second');

    await press('Dismiss: Second');
    await press('Close message');
    await expectFocus('Inbox');
    await press('Dismiss: First');
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await press('Undo');
    await expectFocus('Workspaces');

    await publishFailures('focus', 'Third');
    await page.getByRole('link', { name: 'Inbox' }).click();
    await publishFailures('focus', 'Fourth');
    await press('Dismiss all');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /^Dismiss/ })
      .press('Enter');
    await page.getByText('All caught up').waitFor();
    await expectFocus('Inbox');

    await refuse(page, 'query Workspaces(', 'FORBIDDEN');
    await page.reload();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    await page.unroute('**/graphql');
    await press('Try again');
    await page.getByText('No workspaces').waitFor();
    await expectFocus('Workspaces');
  });

  test('shows earlier notifications when those that were shown have left the list', async () => {
    const ids: string[] = [];
    for (let number = 1; number <= 22; number += 1)
      ids.push((await publish(gateway, 'earlier', 'task_failed', { title: `Number ${number}` })).id);
    const page = await openFor('earlier');
    await waitForLive(page);
    await eventually(async () => expect(await page.locator('.wa-card-title').count()).toBe(20));
    await gateway.as('earlier').dismissAll({ ids: ids.slice(2) });
    await expectTitles(page, 'Number 2', 'Number 1');
  });

  test('tabs of a browser share a stream, which one takes over from a frozen one', async () => {
    await publish(gateway, 'tabs', 'plan_requested', { title: 'A plan' });
    const app = await serve('tabs');
    const { page: leader } = await open(app);
    await waitForLive(leader);
    const follower = await leader.context().newPage();
    await follower.goto(`${app.origin}/#/inbox`);
    await waitForLive(follower);
    expect(app.streams).toEqual({ opened: 1, open: 1 });
    await card(leader, 'A plan').getByRole('button', { name: 'Approve' }).click();
    await card(follower, 'A plan').getByText('By tabs in an app').waitFor();

    const session = await leader.context().newCDPSession(leader);
    // Stops all scripts of the tab, from the next one on.
    await session.send('Debugger.enable');
    const stopped = new Promise((resolve) => session.once('Debugger.paused', resolve));
    await session.send('Debugger.pause');
    await stopped;
    await publishFailures('tabs', 'Missed');
    await card(follower, 'Missed').waitFor();
    expect(app.streams.opened).toBe(2);
    await session.send('Debugger.resume');
    await card(leader, 'Missed').waitFor();
    await publishFailures('tabs', 'Later');
    for (const tab of [leader, follower]) await card(tab, 'Later').waitFor();
    expect(app.streams).toEqual({ opened: 2, open: 1 });
  }, 60_000);

  test('loads earlier notifications, and shows a kind that it does not know', async () => {
    for (let number = 1; number <= 21; number += 1)
      await publish(gateway, 'many', 'task_failed', { title: `Number ${number}`, previewText: 'A preview' });
    const page = await openFor('many');
    await page.getByRole('button', { name: 'Show earlier' }).press('Enter');
    await card(page, 'Number 1').waitFor();
    expect(await page.locator('h2:focus').allTextContents()).toEqual(['Number 2']);
    expect(await page.getByRole('article').count()).toBe(21);
    expect(await page.getByRole('button', { name: 'Show earlier' }).count()).toBe(0);

    // As a later version of the gateway might reply.
    await page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes('query Notifications(')) return route.continue();
      const text = await (await route.fetch()).text();
      const body = text
        .replaceAll('"TaskFailedNotification"', '"TaskPausedNotification"')
        .replaceAll('"TASK_FAILED"', '"TASK_PAUSED"')
        .replaceAll(/,"payload":\{[^}]*\}/g, '');
      return route.fulfill({ body, contentType: 'application/json' });
    });
    await page.reload();
    await card(page, 'Number 21').getByText('A preview').waitFor();
    expect(await card(page, 'Number 21').locator('.wa-kind').textContent()).toBe('Notification');
  });

  test('says that a notification does not exist, and shows the inbox if the fragment names no screen', async () => {
    const page = await openFor('lost', 'notification/none');
    await page.getByText('This notification does not exist').waitFor();
    const open = (fragment: string) => page.goto(`${new URL(page.url()).origin}/#/${fragment}`);
    await open('nowhere');
    await page.getByText('All caught up').waitFor();
    await open('notification/%E0%A4%A');
    await page.getByText('This notification does not exist').waitFor();
    await open('notification/');
    await page.getByText('All caught up').waitFor();
  });

  test('lists what workspaces run on, and why one failed', async () => {
    const hardware = { cpuKind: 'shared', cpus: 4, memoryMb: 16_384, volumeSizeGb: 500, gpuKind: 'l4' };
    const more = { gitRef: 'refs/heads/main', status: 'ERROR', errorMessage: 'No machine is free' };
    await putWorkspaces(gateway, 'spaces', [workspaceInput({ hardware, ...more })]);
    const page = await openFor('spaces', 'workspaces');
    await page.getByText('No machine is free').waitFor();
    const items = await page.locator('main .wa-meta > *').allTextContents();
    expect(items).toEqual(['error', 'main', '4 shared CPUs', '16 GB RAM', '500 GB disk', 'l4 GPU']);
  });

  test('stores preferences', async () => {
    const page = await openFor('prefs', 'settings');
    const checkbox = page.getByLabel('Push: A task failed');
    await checkbox.uncheck();
    const stored = { notificationKind: 'TASK_FAILED', pushEnabled: false, emailEnabled: true };
    await eventually(async () =>
      expect(await gateway.as('prefs').preferences()).toContainEqual(expect.objectContaining(stored)),
    );
    await page.reload();
    await checkbox.waitFor();
    expect(await checkbox.isChecked()).toBe(false);
  });

  test('connects and disconnects the editor, and says why it has to be connected again', async () => {
    const page = await openFor('editor', 'settings');
    await page.getByLabel('Access token').fill('an-access-token');
    await page.getByLabel('Refresh token').fill('a-refresh-token');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('Connected').waitFor();
    const version = await eventually(() => credentialVersion(gateway, 'editor'));
    await gateway.as(platform).reportEditorFailure({ userId: 'editor', version, reason: 'TOKEN_REVOKED' });
    await page.getByText('Connect it again.').waitFor();
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Disconnect' }).waitFor({ state: 'detached' });
    await page.getByLabel('Access token').waitFor();
  });

  test('explains to users without an organization what they cannot set', async () => {
    const { page } = await open(await serve('outsider', {}), 'settings');
    await page.getByText('Only members of an organization').nth(1).waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  test.each([
    ['light', 320],
    ['dark', 1280],
  ] as const)(
    'every screen fits and has no barriers, whatever the words are: %s, %i pixels',
    async (colorScheme, width) => {
      const user = `axe-${colorScheme}`;
      const word = `https://git.example.com/${'a'.repeat(80)}`;
      for (const kind of ['plan_requested', 'task_failed', 'task_response_ready'] as const)
        await publish(gateway, user, kind, { title: word, projectName: word, payload: payloads[kind] });
      await publish(gateway, user, 'question_requested', { title: 'Several', payload: ask(asked) });
      const { id } = await publish(gateway, user, 'plan_requested', { expiresInSeconds: 60 });
      await answer(gateway, user, { id, ...answers.reject });
      await acknowledge(gateway, user, id);
      const failed = { status: 'ERROR', errorMessage: 'Full', projectId: word, gitRef: word };
      const statuses = ['CREATING', 'RUNNING', 'STOPPED', 'STOPPING'].map((status) => ({ status }));
      await putWorkspaces(gateway, user, [failed, ...statuses].map(workspaceInput));
      const [app, empty] = [await serve(user), await serve(`${user}-empty`)];
      for (const [shown, screen, settled] of [
        [app, 'inbox/active', '.wa-card'],
        [app, 'inbox/all', '.wa-receipt'],
        [app, 'workspaces', 'main li'],
        [app, 'settings', 'td'],
        [empty, 'inbox/waiting', '.wa-empty'],
        [empty, 'workspaces', 'main > p'],
        [empty, 'notification/none', '.wa-empty'],
      ] as const) {
        const { page } = await open(shown, screen);
        await page.setViewportSize({ width, height: 900 });
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        await page.locator(settled).first().waitFor();
        expect(await findBarriers(page), `${screen} at ${width}`).toEqual([]);
        const needed = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(needed, `${screen} at ${width}`).toBeLessThanOrEqual(width);
      }
    },
    120_000,
  );

  test('has no barriers while it loads, when loading fails, and in its messages, which fit', async () => {
    const title = `https://git.example.com/${'a'.repeat(80)}`;
    await publish(gateway, 'states', 'plan_requested', { title });
    const app = await serve('states');
    const { page } = await open(app);
    await page.setViewportSize({ width: 320, height: 640 });
    await page.getByRole('button', { name: 'Request changes' }).click();
    await page.getByRole('button', { name: /^Dismiss: / }).click();
    const { x = 0, width = 0 } = (await page.getByRole('button', { name: 'Undo' }).boundingBox()) ?? {};
    expect(x).toBeGreaterThan(0);
    expect(x + width).toBeLessThanOrEqual(320);
    expect(await findBarriers(page)).toEqual([]);

    app.setGateway('http://127.0.0.1:9');
    app.endStreams();
    await page.getByText('The server cannot be reached.').first().waitFor();
    await page.getByRole('link', { name: 'Workspaces' }).click();
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    expect(await findBarriers(page)).toEqual([]);

    await page.route('**/graphql', () => undefined);
    await page.reload();
    await page.getByRole('link', { name: 'Inbox' }).click();
    await page.getByLabel('Loading').waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });
});
