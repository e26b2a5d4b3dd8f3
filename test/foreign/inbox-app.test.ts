import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeInChromium } from '../support/browser.ts';
import { renewEpochOf } from '../support/database.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  credentialVersion,
  type Kind,
  payloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { acknowledge, answer, answers } from '../support/requests.ts';
import { platform, signToken } from '../support/tokens.ts';
import { findBarriers } from './axe.ts';
import { buildInboxApp } from './inbox-app.ts';
import { startWebApp, type WebApp } from './web-app.ts';

const asked = [
  { question: 'Which format?', options: [{ label: 'PDF' }, { label: 'XML' }] },
  {
    question: 'Who gets a copy?',
    multiSelect: true,
    options: [{ label: 'Accounting' }, { label: 'The archive' }],
  },
  { question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] },
];
const ask = (questions: unknown[]) => ({ questionRequested: { toolId: 'tool-q', input: { questions } } });
const propose = (plan: string, more: object = {}) => ({
  planRequested: { toolId: 'tool-p', input: { summary: 'In short', plan, ...more } },
});

describeInChromium('the example inbox', (openPage) => {
  let files: ReadonlyMap<string, Uint8Array>;
  let gateway: TestGateway;
  const apps: WebApp[] = [];
  const pages: Page[] = [];

  beforeAll(async () => {
    [files, gateway] = await Promise.all([buildInboxApp(), startTestGateway()]);
  }, 120_000);
  afterEach(async () => {
    for (const page of pages.splice(0)) await page.context().close();
    for (const app of apps.splice(0)) await app.close();
  });
  afterAll(() => gateway.close());

  /** Serves the app for a user. */
  async function serve(user: string, claims: object = { org_id: 'acme' }) {
    const app = await startWebApp({
      files,
      gateway,
      getToken: () => signToken({ sub: user, exp: Math.floor(Date.now() / 1000) + 3600, ...claims }),
    });
    apps.push(app);
    return app;
  }

  /** Opens a screen of the app in a browser of its own. */
  async function open({ origin }: WebApp, screen = 'inbox'): Promise<Page> {
    const { page } = await openPage(`${origin}/#/${screen}`);
    pages.push(page);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    return page;
  }

  const openInbox = async (user: string) => open(await serve(user));
  const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });
  const waitForLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
  const expectTitles = (page: Page, ...titles: string[]) =>
    eventually(async () => expect(await page.locator('.wa-card-title').allTextContents()).toEqual(titles));
  const expectBadge = (page: Page, total: number) =>
    eventually(async () => expect(await page.locator('.badge').textContent()).toBe(`${total}`));
  const publishFailures = async (user: string, titles: readonly string[]) => {
    for (const title of titles) await publish(gateway, user, 'task_failed', { title });
  };
  const expectAnswer = async (user: string, id: string, answer: object) =>
    expect((await gateway.as(user).notification({ id })).request?.answer).toMatchObject(answer);

  /** Refuses an operation once it is `released`. */
  const refuse = (page: Page, operation: string, code: string, released?: Promise<unknown>) =>
    page.route('**/graphql', async (route) => {
      if (!route.request().postData()?.includes(operation)) return route.continue();
      await released;
      return route.fulfill({ json: { errors: [{ message: 'No', extensions: { code } }] } });
    });

  test('shows a notification as it is published, and counts it', async () => {
    const page = await openInbox('live');
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

  test('dismisses a notification, and undoes it', async () => {
    await publishFailures('undo', ['First', 'Second']);
    const page = await openInbox('undo');
    await page.getByRole('button', { name: 'Dismiss: Second' }).click();
    await expectTitles(page, 'First');
    await page.getByRole('status').getByText('Dismissed: Second').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expectTitles(page, 'Second', 'First');
    await eventually(async () => expect(await gateway.as('undo').counts()).toMatchObject({ total: 2 }));

    await page.getByRole('button', { name: 'All', exact: true }).click();
    await page.getByRole('button', { name: 'Dismiss: First' }).click();
    await card(page, 'First').getByRole('button', { name: 'Restore' }).click();
    await expectBadge(page, 2);
  });

  test('asks before all are dismissed, leaves open requests by default, and undoes it', async () => {
    await publishFailures(
      'everything',
      Array.from({ length: 25 }, (_, number) => `Failure ${number}`),
    );
    await publish(gateway, 'everything', 'plan_requested', { title: 'A plan' });
    const page = await openInbox('everything');
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
    await card(page, 'A plan').waitFor();
  });

  test('selects, dismisses, undoes, filters and answers with the keyboard', async () => {
    await publishFailures('shortcuts', ['One', 'Two']);
    const other = { id: 'task-of-other', projectId: 'other' };
    await publish(gateway, 'shortcuts', 'plan_requested', { title: 'Plan', task: other });
    const page = await openInbox('shortcuts');
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

  test('keeps what was typed while the user looks at something else', async () => {
    await publish(gateway, 'drafts', 'question_requested', { title: 'Questions', payload: ask(asked) });
    await publish(gateway, 'drafts', 'plan_requested', { title: 'Plan' });
    const page = await openInbox('drafts');
    const feedback = card(page, 'Plan').getByLabel('What should change?');
    const option = card(page, 'Questions').getByLabel('Accounting');
    const other = card(page, 'Questions').getByLabel('Or else').first();
    await card(page, 'Plan').getByRole('button', { name: 'Request changes' }).click();
    await page.keyboard.type('Smaller');
    await option.check();
    await other.fill('CSV');
    await page.getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Inbox' }).click();
    expect(await feedback.inputValue()).toBe('Smaller');
    expect(await option.isChecked()).toBe(true);
    expect(await other.inputValue()).toBe('CSV');
  });

  test('announces what arrives and what is settled elsewhere, and counts it in the title', async () => {
    const { id } = await publish(gateway, 'news', 'plan_requested', { title: 'Open' });
    const page = await open(await serve('news'), 'workspaces');
    await waitForLive(page);
    const setVisibility = (state: string) =>
      page.evaluate((value) => {
        Object.defineProperty(document, 'visibilityState', { value, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, state);
    await setVisibility('hidden');
    await publishFailures('news', ['The build failed']);
    await page.getByRole('status').getByText('New: The build failed').waitFor();
    await eventually(async () => expect(await page.title()).toBe('(1) Workspaces'));
    await setVisibility('visible');
    await eventually(async () => expect(await page.title()).toBe('Workspaces'));
    await answer(gateway, 'news', { id, ...answers.approve });
    await page.getByRole('status').getByText('Answered by news: Open').waitFor();
  });

  test('shows Markdown of plans without HTML, images and hidden text, and what changed since the one before', async () => {
    const task = { id: 'task-of-markdown', projectId: 'project' };
    const plan = [
      '# Steps',
      '1. **First** <img src=x onerror="document.title=1">',
      '![pixel](https://evil.example.com/pixel.png)',
      '[docs](https://docs.example.com/a "T") [run](javascript:alert(1)) <!-- secret -->',
      '[x]: https://hidden.example.com',
    ];
    const publishPlan = (...lines: string[]) =>
      publish(gateway, 'markdown', 'plan_requested', { task, payload: propose(lines.join('\n\n')) });
    const { id } = await publishPlan(...plan);
    await answer(gateway, 'markdown', { id, plan: { decision: 'REQUEST_CHANGES', feedback: 'More' } });
    await publishPlan(...plan, '2. Second');
    const { page, issues } = await openPage(`${(await serve('markdown')).origin}/#/inbox`);
    pages.push(page);
    await page.getByText('Steps', { exact: true }).waitFor();
    const shown = page.locator('.wa-markdown');
    for (const text of [
      '<img src=x onerror="document.title=1">',
      '![pixel](https://evil.example.com/pixel.png)',
      'docs (docs.example.com, T) [run](javascript:alert(1)) <!-- secret -->',
      '[x]: https://hidden.example.com',
    ])
      expect(await shown.textContent()).toContain(text);
    expect(await shown.locator('strong').allTextContents()).toEqual(['First']);
    expect(await shown.locator('img, script').count()).toBe(0);
    const links = await shown.locator('a').evaluateAll((all) => all.map((link) => link.getAttribute('href')));
    expect(links).toEqual(['https://docs.example.com/a']);
    await page.getByText('Changes since the plan before').click();
    await page.locator('ins').waitFor();
    expect(await page.locator('ins').allTextContents()).toEqual(['\n2. Second']);
    expect(await page.locator('del').count()).toBe(0);
    expect(issues).toEqual([]);
  });

  test('is live, offline or unreachable, one at a time and within 5 seconds, and shows what it missed', async () => {
    await publishFailures('connection', ['Before']);
    const app = await serve('connection');
    const page = await open(app);
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
    await publishFailures('connection', ['Meanwhile']);
    app.setGateway(gateway.address);
    await page.locator('header').getByRole('button', { name: 'Try now' }).click();
    await becomes('live');
    await page.getByText('No workspaces').waitFor();
    await page.getByRole('link', { name: 'Inbox' }).click();
    await expectTitles(page, 'Meanwhile', 'Before');
  });

  test('keeps the focus in the page when the button that has it vanishes', async () => {
    await publishFailures('focus', ['First', 'Second']);
    const page = await openInbox('focus');
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

    await publishFailures('focus', ['Third']);
    await page.getByRole('link', { name: 'Inbox' }).click();
    await publishFailures('focus', ['Fourth']);
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

  test('shows no notification that left the list while events were missed', async () => {
    await publishFailures('gap', ['Stays']);
    const task = { id: 'task-of-gap', projectId: 'project' };
    await publish(gateway, 'gap', 'question_requested', { title: 'Resolved before', task });
    const app = await serve('gap');
    const page = await open(app);
    await card(page, 'Resolved before').waitFor();
    await waitForLive(page);
    await resolve(gateway, 'gap', task.id);
    await card(page, 'Resolved before').getByText('Answered elsewhere').first().waitFor();
    await publish(gateway, 'gap', 'question_requested', { title: 'Resolved meanwhile', task });
    await card(page, 'Resolved meanwhile').waitFor();

    app.setGateway('http://127.0.0.1:9');
    app.endStreams();
    await page.getByText('The server cannot be reached.').first().waitFor();
    // The stream cannot be resumed after it.
    await renewEpochOf(gateway.database);
    await resolve(gateway, 'gap', task.id);
    await publishFailures('gap', ['New']);
    app.setGateway(gateway.address);
    await page.getByRole('button', { name: 'Try now' }).click();
    await expectTitles(page, 'New', 'Resolved before', 'Stays');
  });

  test('shows earlier notifications when those that were shown have left the list', async () => {
    const ids: string[] = [];
    for (let number = 1; number <= 22; number += 1)
      ids.push((await publish(gateway, 'earlier', 'task_failed', { title: `Number ${number}` })).id);
    const page = await openInbox('earlier');
    await waitForLive(page);
    await eventually(async () => expect(await page.locator('.wa-card-title').count()).toBe(20));
    await gateway.as('earlier').dismissAll({ ids: ids.slice(2) });
    await expectTitles(page, 'Number 2', 'Number 1');
  });

  test('shows why an answer was refused, although the notification was shown as answered elsewhere', async () => {
    await publish(gateway, 'refused', 'plan_requested', { title: 'The plan' });
    const page = await openInbox('refused');
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await refuse(page, 'mutation Answer', 'FORBIDDEN', released);
    await card(page, 'The plan').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'All', exact: true }).click();
    await card(page, 'The plan').getByText('Approved').waitFor();
    release();
    await card(page, 'The plan').getByRole('alert').waitFor();
    await card(page, 'The plan').getByRole('button', { name: 'Approve' }).waitFor();
  });

  test('approves a plan with the keyboard only, and shows what became of the answer', async () => {
    const { id } = await publish(gateway, 'keys', 'plan_requested', {
      title: 'Split the service',
      expiresInSeconds: 300,
      onExpiry: answers.approve,
    });
    const page = await openInbox('keys');
    const plan = card(page, 'Split the service');
    await plan.getByText('Expires in 5 minutes; then: Approved').waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent);
    while ((await focused()) !== 'Approve') await page.keyboard.press('Tab');
    await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor();
    await page.keyboard.press('Enter');
    await plan.getByText('By keys in an app').waitFor();
    // It stays until the user leaves the tab, and so does the focus.
    expect(await focused()).toContain('Approved');
    await expectAnswer('keys', id, { plan: { decision: 'APPROVE', feedback: null } });
    await acknowledge(gateway, 'keys', id, 'REFUSED', 'The branch is gone');
    await plan.getByText('The task could not use it: The branch is gone').waitFor();

    await page.getByRole('button', { name: /^Waiting for you/ }).click();
    await page.getByText('Nothing waits for you').waitFor();
  });

  test('approves no plan that takes the place of another under the pointer', async () => {
    const task = { id: 'task-of-slide', projectId: 'project' };
    await publish(gateway, 'slide', 'plan_requested', { title: 'SAFE', task });
    const page = await openInbox('slide');
    const approve = (title: string, disabled: boolean) =>
      card(page, title).getByRole('button', { name: 'Approve', disabled });
    await approve('SAFE', false).waitFor();
    const { x = 0, y = 0 } = (await approve('SAFE', false).boundingBox()) ?? {};
    const evil = await publish(gateway, 'slide', 'plan_requested', { title: 'EVIL', task });
    await approve('EVIL', true).waitFor();
    await page.mouse.click(x + 5, y + 5);
    await card(page, 'EVIL').getByText('Nothing was sent').waitFor();
    // What it superseded stays, and says so.
    await card(page, 'SAFE').getByText('Replaced').first().waitFor();
    await expectTitles(page, 'EVIL', 'SAFE');
    await approve('EVIL', false).click();
    await card(page, 'EVIL').getByText('By slide in an app').waitFor();
    await expectAnswer('slide', evil.id, { plan: { decision: 'APPROVE' } });
  });

  test('shows everything that is approved: the whole input of a plan, and the default in words', async () => {
    const publishWhole = (title: string, kind: Kind, payload: object, onExpiry: object) =>
      publish(gateway, 'whole', kind, { title, payload, onExpiry, expiresInSeconds: 300 });
    const tools = [{ name: 'Bash' }];
    await publishWhole('A plan', 'plan_requested', propose('1. Do it', { branch: 'main', tools }), {
      plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller steps' },
    });
    await publishWhole('One', 'question_requested', ask(asked.slice(0, 1)), answers.second);
    const other = { index: 0, options: [], other: 'CSV' };
    await publishWhole('Two', 'question_requested', ask(asked.slice(0, 2)), {
      questions: [other, { index: 1, options: [0, 1] }],
    });
    const page = await openInbox('whole');
    await card(page, 'A plan').getByText('; then: Changes requested: Smaller steps').waitFor();
    const others = card(page, 'A plan').locator('.wa-input');
    expect(await others.locator('dt').allTextContents()).toEqual(['branch', 'tools']);
    expect(await others.locator('dd').allTextContents()).toEqual(['main', JSON.stringify(tools, null, 2)]);
    await card(page, 'One').getByText('; then: XML').waitFor();
    const both = '; then: Which format? CSV; Who gets a copy? Accounting, The archive';
    await card(page, 'Two').getByText(both).waitFor();
  });

  test('requests changes, and keeps what was typed if the answer is refused', async () => {
    const { id } = await publish(gateway, 'changes', 'plan_requested', { title: 'A plan' });
    const page = await openInbox('changes');
    await card(page, 'A plan').getByRole('button', { name: 'Request changes' }).click();
    await page.getByLabel('What should change?').fill('Smaller steps');
    await refuse(page, 'answerNotification', 'INTERNAL_ERROR');
    await page.getByRole('button', { name: 'Send request' }).click();
    await card(page, 'A plan').getByText('The server has a problem.').waitFor();
    expect(await page.getByLabel('What should change?').inputValue()).toBe('Smaller steps');
    await page.unroute('**/graphql');
    await page.getByRole('button', { name: 'Send request' }).click();
    await card(page, 'A plan').getByText('By changes in an app').waitFor();
    await expectAnswer('changes', id, { plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller steps' } });
  });

  test('shows in another browser which answer was first', async () => {
    const [seen, raced] = ['Seen', 'Raced'];
    for (const title of [seen, raced]) await publish(gateway, 'two', 'plan_requested', { title });
    const app = await serve('two');
    const [one, other] = [await open(app), await open(app)];
    await waitForLive(other);
    await card(other, seen).waitFor();
    await card(one, seen).getByRole('button', { name: 'Approve' }).click();
    await card(other, seen).getByText('By two in an app').waitFor();

    // The other answer is on its way when the first one is stored.
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    await other.route('**/graphql', async (route) => {
      if (route.request().postData()?.includes('answerNotification')) await released;
      await route.continue();
    });
    await card(other, raced).getByRole('button', { name: 'Reject' }).click();
    await card(other, raced).getByRole('button', { name: 'Send rejection' }).click();
    await card(one, raced).getByRole('button', { name: 'Approve' }).click();
    await card(one, raced).getByText('By two in an app').waitFor();
    release();
    await card(other, raced).getByText('Your answer came too late. This was first:').waitFor();
    expect(await card(other, raced).locator('.wa-answer-title').textContent()).toBe('Approved');
  });

  test('tabs of a browser share a stream, which one takes over from a frozen one', async () => {
    await publish(gateway, 'tabs', 'plan_requested', { title: 'A plan' });
    const app = await serve('tabs');
    const leader = await open(app);
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
    await publishFailures('tabs', ['Missed']);
    await card(follower, 'Missed').waitFor();
    expect(app.streams.opened).toBe(2);
    await session.send('Debugger.resume');
    await card(leader, 'Missed').waitFor();
    await publishFailures('tabs', ['Later']);
    for (const tab of [leader, follower]) await card(tab, 'Later').waitFor();
    expect(app.streams).toEqual({ opened: 2, open: 1 });
  }, 60_000);

  test('answers questions with options, several options and an own text', async () => {
    const { id } = await publish(gateway, 'ask', 'question_requested', {
      title: 'Questions',
      payload: ask(asked),
    });
    const page = await openInbox('ask');
    const questions = card(page, 'Questions');
    for (const label of ['XML', 'Accounting', 'The archive']) await questions.getByLabel(label).check();
    await questions.getByRole('button', { name: 'Send' }).click();
    await questions.getByText('Answer every question.').waitFor();
    await questions.getByLabel('Red').check();
    await questions.getByLabel('Or else').last().fill('Green');
    await questions.getByRole('button', { name: 'Send' }).click();
    await questions.getByText('Accounting, The archive').waitFor();
    await questions.getByText('By ask in an app').waitFor();
    await expectAnswer('ask', id, {
      questions: [
        { index: 0, options: [1], other: null },
        { index: 1, options: [0, 1], other: null },
        { index: 2, options: [], other: 'Green' },
      ],
    });
  });

  test('replies to a task that awaits input', async () => {
    const { id } = await publish(gateway, 'reply', 'task_response_ready', { title: 'Done' });
    const page = await openInbox('reply');
    await card(page, 'Done').getByLabel('Reply').fill('Open a pull request');
    await card(page, 'Done').getByRole('button', { name: 'Send' }).click();
    await card(page, 'Done').getByText('By reply in an app').waitFor();
    await expectAnswer('reply', id, { reply: { text: 'Open a pull request' } });
  });

  test('expands a long plan', async () => {
    const plan = Array.from({ length: 40 }, (_, index) => `${index + 1}. Step`).join('\n');
    await publish(gateway, 'long', 'plan_requested', { payload: propose(plan) });
    const page = await openInbox('long');
    const height = async () => (await page.locator('.wa-markdown').locator('..').boundingBox())?.height ?? 0;
    await page.getByRole('button', { name: 'Show all' }).waitFor();
    const before = await height();
    await page.getByRole('button', { name: 'Show all' }).click();
    expect(await height()).toBeGreaterThan(before * 3);
  });

  test('loads earlier notifications, and shows a kind that it does not know', async () => {
    for (let number = 1; number <= 21; number += 1)
      await publish(gateway, 'many', 'task_failed', { title: `Number ${number}`, previewText: 'A preview' });
    const page = await openInbox('many');
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

  test('stores preferences', async () => {
    const page = await open(await serve('prefs'), 'settings');
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
    const page = await open(await serve('editor'), 'settings');
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
    const page = await open(await serve('outsider', {}), 'settings');
    await page.getByText('Only members of an organization').nth(1).waitFor();
    expect(await findBarriers(page)).toEqual([]);
  });

  test.each(['light', 'dark'] as const)(
    'every screen fits and has no barriers in the %s theme, whatever the words are',
    async (colorScheme) => {
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
      for (const width of [1280, 320]) {
        for (const [shown, screen, settled] of [
          [app, 'inbox/active', '.wa-card'],
          [app, 'inbox/all', '.wa-receipt'],
          [app, 'workspaces', 'main li'],
          [app, 'settings', 'td'],
          [empty, 'inbox/waiting', '.wa-empty'],
          [empty, 'workspaces', 'main > p'],
        ] as const) {
          const page = await open(shown, screen);
          await page.setViewportSize({ width, height: 900 });
          await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
          await page.locator(settled).first().waitFor();
          expect(await findBarriers(page), `${screen} at ${width}`).toEqual([]);
          const needed = await page.evaluate(() => document.documentElement.scrollWidth);
          expect(needed, `${screen} at ${width}`).toBeLessThanOrEqual(width);
          await page.context().close();
        }
      }
    },
    120_000,
  );

  test('has no barriers while it loads, when loading fails, and in its messages, which fit', async () => {
    const title = `https://git.example.com/${'a'.repeat(80)}`;
    await publish(gateway, 'states', 'plan_requested', { title });
    const app = await serve('states');
    const page = await open(app);
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
