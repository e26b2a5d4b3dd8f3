import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { recorded } from '../support/agents.ts';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { rest } from '../support/client.ts';
import { createTestDatabase, renewEpochOf } from '../support/database.ts';
import { runHook } from '../support/documented-hooks.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import {
  asMember,
  asPlatform,
  credentialVersion,
  payloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { acknowledge, answer, answers, readNotification } from '../support/requests.ts';
import { member, signTaskToken, signToken } from '../support/tokens.ts';
import { findBarriers } from './axe.ts';
import { buildInboxApp } from './inbox-app.ts';
import { startWebApp, type WebApp } from './web-app.ts';

if (!hasBrowser) process.stdout.write('inbox-app.test.ts: chromium was not found on the PATH, skipping.\n');

const sizes = [1280, 400];
const themes = ['light', 'dark'] as const;

const questions = {
  questionRequested: {
    toolId: 'tool-q',
    input: {
      questions: [
        { question: 'Which format?', options: [{ label: 'PDF' }, { label: 'XML' }] },
        {
          question: 'Who gets a copy?',
          multiSelect: true,
          options: [{ label: 'Accounting' }, { label: 'The archive' }],
        },
        { question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] },
      ],
    },
  },
};

describe.skipIf(!hasBrowser)(
  `the example inbox in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    let files: ReadonlyMap<string, Uint8Array>;
    let browser: Browser;
    let gateway: TestGateway;
    const apps: WebApp[] = [];
    const pages: Page[] = [];

    beforeAll(async () => {
      [files, gateway, browser] = await Promise.all([buildInboxApp(), startTestGateway(), startBrowser()]);
    }, 120_000);
    afterEach(async () => {
      for (const page of pages.splice(0)) await page.context().close();
      for (const app of apps.splice(0)) await app.close();
    });
    afterAll(async () => {
      await browser.close();
      await gateway.close();
    });

    type Options = { at?: TestGateway; seconds?: number; isMember?: boolean };

    /** Serves the app for a user. */
    async function serve(user: string, { at = gateway, seconds = 3600, isMember = true }: Options = {}) {
      const app = await startWebApp({
        files,
        gateway: at,
        getToken: () => {
          const exp = Math.floor(Date.now() / 1000) + seconds;
          return signToken({ sub: user, exp, ...(isMember && { org_id: 'acme' }) });
        },
      });
      apps.push(app);
      return app;
    }

    /** Opens a screen of the app in a browser of its own. */
    async function open({ origin }: WebApp, screen = 'inbox', locale = 'en'): Promise<Page> {
      const { page } = await openPage(browser, `${origin}/#/${screen}`, { locale });
      pages.push(page);
      await page.emulateMedia({ reducedMotion: 'reduce' });
      return page;
    }

    const card = (page: Page, title: string) => page.getByRole('article', { name: title, exact: true });
    const waitForLive = (page: Page) => page.getByText('Live', { exact: true }).waitFor();
    const cardTitles = (page: Page) => page.locator('.wa-card-title').allTextContents();

    test('shows a notification as it is published, and counts it', async () => {
      const page = await open(await serve('live'));
      await page.getByText('All caught up').waitFor();
      await waitForLive(page);
      const task = { id: 'task-of-live', projectId: 'shop' };
      await publish(gateway, 'live', 'task_failed', {
        title: 'The build failed',
        task,
        prUrl: 'https://git.example.com/pulls/1',
        projectRepoUrl: 'https://git.example.com/shop.git',
      });
      await card(page, 'The build failed').getByText('It broke').waitFor();
      const links = card(page, 'The build failed').locator('.wa-card-foot a');
      expect(await links.allTextContents()).toEqual(['Pull request', 'Repository']);
      expect(await page.locator('.badge').textContent()).toBe('1');
      await card(page, 'The build failed').getByText('Messages sent').click();
      await card(page, 'The build failed').getByText('Email').waitFor();
      // Nobody answers a failure.
      await resolve(gateway, 'live', task.id);
      await card(page, 'The build failed').getByText('Settled', { exact: true }).waitFor();
      const { id } = await publish(gateway, 'live', 'plan_requested', { title: 'A plan', task });
      await card(page, 'A plan').waitFor();
      await resolve(gateway, 'live', task.id);
      await card(page, 'A plan').getByText('Answered elsewhere').waitFor();
      await card(page, 'A plan').getByText('It was answered outside of this inbox.').waitFor();
      expect((await readNotification(gateway, 'live', id)).request.state).toBe('WITHDRAWN');
    });

    const hooks = ['claude', 'codex'].flatMap((agent) =>
      recorded(agent)
        .filter((body) => body.hook_event_name === 'PermissionRequest')
        .map((body) => [agent, String(body.tool_name), body] as const),
    );
    test.each(hooks)(
      'answers the hook of %s about %s, by the documented configuration',
      async (agent, tool, body) => {
        const user = `${agent}-${tool}`;
        const page = await open(await serve(user));
        await waitForLive(page);
        const ran = runHook(gateway, agent, body, await signTaskToken(user, 'task-1'));
        const question = page.getByRole('article').first();
        if (tool === 'ExitPlanMode')
          await question.getByRole('button', { name: 'Approve', exact: true }).click();
        else {
          await question.getByRole('radio', { name: /^(Allow once|PostgreSQL)/ }).check();
          await question.getByRole('button', { name: 'Send' }).click();
        }
        expect(JSON.parse((await ran).output).hookSpecificOutput.decision.behavior).toBe('allow');
      },
    );

    test('dismisses a notification, and undoes it', async () => {
      for (const title of ['First', 'Second']) await publish(gateway, 'undo', 'task_failed', { title });
      const page = await open(await serve('undo'));
      await page.getByRole('button', { name: 'Dismiss: Second' }).click();
      await eventually(async () => expect(await cardTitles(page)).toEqual(['First']));
      await page.getByRole('status').getByText('Dismissed: Second').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Second', 'First']));
      await eventually(async () => {
        const data = await asMember(gateway, 'undo', '{ notificationCounts { total } }');
        expect(data.notificationCounts.total).toBe(2);
      });

      await page.getByRole('button', { name: 'All', exact: true }).click();
      await page.getByRole('button', { name: 'Dismiss: First' }).click();
      await card(page, 'First').getByRole('button', { name: 'Restore' }).click();
      await eventually(async () => expect(await page.locator('.badge').textContent()).toBe('2'));
    });

    test('asks before all are dismissed, leaves open requests unless told otherwise, and undoes it', async () => {
      const failures = Array.from({ length: 25 }, (_, number) => `Failure ${number}`);
      for (const title of failures) await publish(gateway, 'everything', 'task_failed', { title });
      await publish(gateway, 'everything', 'plan_requested', { title: 'A plan' });
      const page = await open(await serve('everything'));
      const badge = (total: number) =>
        eventually(async () => expect(await page.locator('.badge').textContent()).toBe(`${total}`));
      await badge(26);
      await page.getByRole('button', { name: 'Dismiss all' }).click();
      const dialog = page.getByRole('dialog', { name: 'Dismiss 25 notifications?' });
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await badge(26);
      await page.getByRole('button', { name: 'Dismiss all' }).click();
      await dialog.getByRole('button', { name: 'Dismiss 25' }).click();
      await badge(1);
      expect(await cardTitles(page)).toEqual(['A plan']);
      await page.getByText('Dismissed 25 notifications.').waitFor();
      await page.keyboard.press('u');
      await badge(26);

      await page.getByRole('button', { name: 'Dismiss all' }).click();
      await page.getByLabel('Also dismiss the request that waits for you').check();
      await page.getByRole('button', { name: 'Dismiss 26' }).click();
      await page.getByText('All caught up').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await badge(26);
      await eventually(async () => expect(await cardTitles(page)).toContain('A plan'));
    });

    test('selects, dismisses, undoes, filters and answers with the keyboard', async () => {
      const other = { id: 'task-of-other', projectId: 'other' };
      for (const title of ['One', 'Two']) await publish(gateway, 'shortcuts', 'task_failed', { title });
      await publish(gateway, 'shortcuts', 'plan_requested', { title: 'Plan', task: other });
      const page = await open(await serve('shortcuts'));
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
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Plan', 'One']));
      expect(await focused()).toBe('One');
      await press('u');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Plan', 'Two', 'One']));
      await press('x', 'j', 'x');
      await page.getByRole('group', { name: '2 selected' }).getByRole('button', { name: 'Dismiss' }).click();
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Plan']));
      await press('u');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Plan', 'Two', 'One']));

      await page.getByLabel('Kind').selectOption('Failure');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Two', 'One']));
      await page.getByLabel('Project').selectOption('other');
      await page.getByText('Nothing matches the filters').waitFor();
      await page.getByLabel('Kind').selectOption('All kinds');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Plan']));
      await press('?');
      await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByText('Next notification').waitFor();
      await press('Escape');
      // Letters that are typed are no shortcuts.
      await card(page, 'Plan').getByRole('button', { name: 'Request changes' }).click();
      await page.keyboard.type('june');
      expect(await page.getByLabel('What should change?').inputValue()).toBe('june');
    });

    test('keeps what was typed while the user looks at something else', async () => {
      await publish(gateway, 'drafts', 'question_requested', { title: 'Questions', payload: questions });
      await publish(gateway, 'drafts', 'plan_requested', { title: 'Plan' });
      const page = await open(await serve('drafts'));
      await card(page, 'Plan').getByRole('button', { name: 'Request changes' }).click();
      await page.keyboard.type('Smaller');
      await card(page, 'Questions').getByLabel('Accounting').check();
      await card(page, 'Questions').getByLabel('Or else').first().fill('CSV');
      await page.getByRole('link', { name: 'Settings' }).click();
      await page.getByRole('link', { name: 'Inbox' }).click();
      expect(await card(page, 'Plan').getByLabel('What should change?').inputValue()).toBe('Smaller');
      expect(await card(page, 'Questions').getByLabel('Accounting').isChecked()).toBe(true);
      expect(await card(page, 'Questions').getByLabel('Or else').first().inputValue()).toBe('CSV');
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
      await publish(gateway, 'news', 'task_failed', { title: 'The build failed' });
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
      const publishPlan = (lines: readonly string[]) =>
        publish(gateway, 'markdown', 'plan_requested', {
          title: 'A plan',
          task,
          payload: { planRequested: { toolId: 'tool-m', input: { summary: 'S', plan: lines.join('\n\n') } } },
        });
      const { id } = await publishPlan(plan);
      await answer(gateway, 'markdown', {
        id,
        answerId: 'changes',
        plan: { decision: 'REQUEST_CHANGES', feedback: 'More' },
      });
      await publishPlan([...plan, '2. Second']);
      const { page, issues } = await openPage(browser, `${(await serve('markdown')).origin}/#/inbox`);
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
      expect(
        await shown.locator('a').evaluateAll((links) => links.map((link) => link.getAttribute('href'))),
      ).toEqual(['https://docs.example.com/a']);
      await page.getByText('Changes since the plan before').click();
      await page.locator('ins').waitFor();
      expect(await page.locator('ins').allTextContents()).toEqual(['\n2. Second']);
      expect(await page.locator('del').count()).toBe(0);
      expect(issues).toEqual([]);
    });

    test('is live, offline or unreachable, one at a time and known within 5 seconds', async () => {
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
      app.setGateway(gateway.address);
      await page.getByRole('button', { name: 'Try now' }).click();
      await becomes('live');
    });

    test('keeps the focus in the page when the button that has it vanishes', async () => {
      for (const title of ['First', 'Second']) await publish(gateway, 'focus', 'task_failed', { title });
      const page = await open(await serve('focus'));
      const focused = page.locator('h1:focus, h2:focus');
      const press = (name: string) => page.getByRole('button', { name, exact: true }).press('Enter');
      await press('Dismiss: Second');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['First']));
      await press('Undo');
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Second', 'First']));
      expect(await focused.allTextContents()).toEqual(['Second']);

      await press('Dismiss: Second');
      await press('Close message');
      expect(await focused.allTextContents()).toEqual(['Inbox']);
      await press('Dismiss: First');
      await page.getByRole('link', { name: 'Workspaces' }).click();
      await press('Undo');
      expect(await focused.allTextContents()).toEqual(['Workspaces']);

      await publish(gateway, 'focus', 'task_failed', { title: 'Third' });
      await page.getByRole('link', { name: 'Inbox' }).click();
      await publish(gateway, 'focus', 'task_failed', { title: 'Fourth' });
      await press('Dismiss all');
      await page
        .getByRole('dialog')
        .getByRole('button', { name: /^Dismiss/ })
        .press('Enter');
      await page.getByText('All caught up').waitFor();
      expect(await focused.allTextContents()).toEqual(['Inbox']);

      let isRefused = true;
      await page.route('**/graphql', (route) => {
        if (!isRefused || !route.request().postData()?.includes('query Workspaces(')) return route.continue();
        isRefused = false;
        return route.fulfill({ json: { errors: [{ message: 'No', extensions: { code: 'FORBIDDEN' } }] } });
      });
      await page.reload();
      await page.getByRole('link', { name: 'Workspaces' }).click();
      await press('Try again');
      await page.getByText('No workspaces').waitFor();
      expect(await focused.allTextContents()).toEqual(['Workspaces']);
    });

    test('shows no notification that left the list while events were missed', async () => {
      await publish(gateway, 'gap', 'task_failed', { title: 'Stays' });
      const task = { id: 'task-of-gap', projectId: 'project' };
      await publish(gateway, 'gap', 'question_requested', { title: 'Resolved before', task });
      const page = await open(await serve('gap'));
      await card(page, 'Resolved before').waitFor();
      await waitForLive(page);
      await resolve(gateway, 'gap', task.id);
      await card(page, 'Resolved before').getByText('Answered elsewhere').first().waitFor();
      await publish(gateway, 'gap', 'question_requested', { title: 'Resolved meanwhile', task });
      await card(page, 'Resolved meanwhile').waitFor();

      await renewEpochOf(gateway.database);
      await resolve(gateway, 'gap', task.id);
      await publish(gateway, 'gap', 'task_failed', { title: 'New' });
      await card(page, 'New').waitFor();
      expect(await cardTitles(page)).toEqual(['New', 'Resolved before', 'Stays']);
    });

    test('shows earlier notifications when those that were shown have left the list', async () => {
      const published: string[] = [];
      for (let number = 1; number <= 22; number += 1)
        published.push((await publish(gateway, 'earlier', 'task_failed', { title: `Number ${number}` })).id);
      const page = await open(await serve('earlier'));
      await waitForLive(page);
      await eventually(async () => expect(await cardTitles(page)).toHaveLength(20));
      await asMember(
        gateway,
        'earlier',
        'mutation ($ids: [ID!]!) { dismissNotifications(input: { ids: $ids }) { dismissedCount } }',
        { ids: published.slice(2) },
      );
      await eventually(async () => expect(await cardTitles(page)).toEqual(['Number 2', 'Number 1']));
    });

    test('shows why an answer was refused, although the notification was shown as answered elsewhere', async () => {
      await publish(gateway, 'refused', 'plan_requested', { title: 'The plan' });
      const page = await open(await serve('refused'));
      const { promise: isReleased, resolve: release } = Promise.withResolvers<void>();
      await page.route('**/graphql', async (route) => {
        if (!route.request().postData()?.includes('mutation Answer')) return route.continue();
        await isReleased;
        const errors = [{ message: 'Not allowed.', extensions: { code: 'FORBIDDEN' } }];
        return route.fulfill({ json: { errors, data: { answerNotification: null } } });
      });
      await card(page, 'The plan').getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('button', { name: 'All', exact: true }).click();
      await card(page, 'The plan').getByText('Approved').waitFor();
      release();
      await card(page, 'The plan').getByRole('alert').waitFor();
      await card(page, 'The plan').getByRole('button', { name: 'Approve' }).waitFor();
    });

    test('fits a narrow window, whatever the words are', async () => {
      const word = `https://git.example.com/${'a'.repeat(80)}`;
      await publish(gateway, 'narrow', 'task_failed', { title: word, projectName: word });
      await putWorkspaces(gateway, 'narrow', [workspaceInput({ projectId: word, gitRef: word })]);
      const app = await serve('narrow');
      for (const screen of ['inbox', 'workspaces', 'settings']) {
        const page = await open(app, screen);
        await page.setViewportSize({ width: 320, height: 640 });
        await page
          .locator({ inbox: '.wa-card', workspaces: 'main li', settings: 'td' }[screen] ?? '')
          .first()
          .waitFor();
        expect(await page.evaluate(() => document.documentElement.scrollWidth), screen).toBe(320);
        if (screen !== 'inbox') continue;
        await page.getByRole('button', { name: /^Dismiss: / }).click();
        const { x = 0, width = 0 } = (await page.getByRole('button', { name: 'Undo' }).boundingBox()) ?? {};
        expect(x + width).toBeLessThanOrEqual(320);
        expect(x).toBeGreaterThan(0);
      }
    });

    test('approves a plan with the keyboard only, and shows what became of the answer', async () => {
      const { id } = await publish(gateway, 'keys', 'plan_requested', {
        title: 'Split the service',
        expiresInSeconds: 300,
        onExpiry: answers.approve,
      });
      const page = await open(await serve('keys'));
      await card(page, 'Split the service').getByText('Expires in 5 minutes; then: Approved').waitFor();
      const focused = () => page.evaluate(() => document.activeElement?.textContent);
      while ((await focused()) !== 'Approve') await page.keyboard.press('Tab');
      await page.getByRole('button', { name: 'Approve', disabled: false }).waitFor();
      await page.keyboard.press('Enter');
      await card(page, 'Split the service').getByText('By keys in an app').waitFor();
      // It stays until the user leaves the tab, and so does the focus.
      expect(await focused()).toContain('Approved');
      expect((await readNotification(gateway, 'keys', id)).request.answer.plan).toEqual({
        decision: 'APPROVE',
        feedback: null,
      });
      await acknowledge(gateway, 'keys', id, 'REFUSED', 'The branch is gone');
      await card(page, 'Split the service')
        .getByText('The task could not use it: The branch is gone')
        .waitFor();

      await page.getByRole('button', { name: /^Waiting for you/ }).click();
      await page.getByText('Nothing waits for you').waitFor();
    });

    test('approves no plan that takes the place of another under the pointer', async () => {
      const input = { title: 'SAFE', task: { id: 'task-of-slide', projectId: 'project' } };
      const safe = await publish(gateway, 'slide', 'plan_requested', input);
      const page = await open(await serve('slide'));
      const approve = (title: string, disabled: boolean) =>
        card(page, title).getByRole('button', { name: 'Approve', disabled });
      await approve('SAFE', false).waitFor();
      const { x = 0, y = 0 } = (await approve('SAFE', false).boundingBox()) ?? {};
      const evil = await publish(gateway, 'slide', 'plan_requested', { ...input, title: 'EVIL' });
      await approve('EVIL', true).waitFor();
      await page.mouse.click(x + 5, y + 5);
      await card(page, 'EVIL').getByText('Nothing was sent').waitFor();
      // What it superseded stays, and says so.
      await card(page, 'SAFE').getByText('Replaced').first().waitFor();
      expect(await cardTitles(page)).toEqual(['EVIL', 'SAFE']);
      await approve('EVIL', false).click();
      await card(page, 'EVIL').getByText('By slide in an app').waitFor();
      expect((await readNotification(gateway, 'slide', safe.id)).request.state).toBe('WITHDRAWN');
      expect((await readNotification(gateway, 'slide', evil.id)).request.answer.plan.decision).toBe(
        'APPROVE',
      );
      await page.getByRole('button', { name: /^Waiting for you/ }).click();
      await page.getByText('Nothing waits for you').waitFor();
    });

    test('shows everything that is approved: the whole input of a plan, and the default in words', async () => {
      const { input } = payloads.plan_requested.planRequested;
      await publish(gateway, 'whole', 'plan_requested', {
        title: 'A plan',
        payload: {
          planRequested: { toolId: 'tool-w', input: { ...input, branch: 'main', tools: [{ name: 'Bash' }] } },
        },
        expiresInSeconds: 300,
        onExpiry: { plan: { decision: 'REQUEST_CHANGES', feedback: 'Smaller steps' } },
      });
      const [first, second] = questions.questionRequested.input.questions;
      const ask = (title: string, asked: unknown[], onExpiry: unknown) =>
        publish(gateway, 'whole', 'question_requested', {
          title,
          payload: { questionRequested: { toolId: title, input: { questions: asked } } },
          expiresInSeconds: 300,
          onExpiry: { questions: onExpiry },
        });
      await ask('One', [first], [{ index: 0, options: [1] }]);
      await ask(
        'Two',
        [first, second],
        [
          { index: 0, options: [], other: 'CSV' },
          { index: 1, options: [0, 1] },
        ],
      );
      const page = await open(await serve('whole'));
      await card(page, 'A plan').getByText('; then: Changes requested: Smaller steps').waitFor();
      const others = card(page, 'A plan').locator('.wa-input');
      expect(await others.locator('dt').allTextContents()).toEqual(['branch', 'tools']);
      expect(await others.locator('dd').allTextContents()).toEqual([
        'main',
        JSON.stringify([{ name: 'Bash' }], null, 2),
      ]);
      await card(page, 'One').getByText('; then: XML', { exact: false }).waitFor();
      await card(page, 'Two')
        .getByText('; then: Which format? CSV; Who gets a copy? Accounting, The archive')
        .waitFor();
    });

    test('requests changes, and keeps what was typed if the answer is refused', async () => {
      const { id } = await publish(gateway, 'changes', 'plan_requested', { title: 'A plan' });
      const page = await open(await serve('changes'));
      await card(page, 'A plan').getByRole('button', { name: 'Request changes' }).click();
      await page.getByLabel('What should change?').fill('Smaller steps');
      await page.route('**/graphql', (route) =>
        route.request().postData()?.includes('answerNotification')
          ? route.fulfill({
              json: { errors: [{ message: 'Failed', extensions: { code: 'INTERNAL_ERROR' } }] },
              status: 500,
            })
          : route.continue(),
      );
      await page.getByRole('button', { name: 'Send request' }).click();
      await card(page, 'A plan').getByText('The server has a problem.').waitFor();
      expect(await page.getByLabel('What should change?').inputValue()).toBe('Smaller steps');
      await page.unroute('**/graphql');
      await page.getByRole('button', { name: 'Send request' }).click();
      await card(page, 'A plan').getByText('Changes requested').waitFor();
      await eventually(async () =>
        expect((await readNotification(gateway, 'changes', id)).request.answer?.plan).toEqual({
          decision: 'REQUEST_CHANGES',
          feedback: 'Smaller steps',
        }),
      );
    });

    test('shows in another browser which answer was first', async () => {
      const [seen, raced] = ['Seen', 'Raced'];
      await publish(gateway, 'two', 'plan_requested', { title: seen });
      await publish(gateway, 'two', 'plan_requested', { title: raced });
      const app = await serve('two');
      const [one, other] = [await open(app), await open(app)];
      await waitForLive(other);
      await card(other, seen).waitFor();
      await card(one, seen).getByRole('button', { name: 'Approve' }).click();
      await card(other, seen).getByText('By two in an app').waitFor();

      // The other answer is on its way when the first one is stored.
      let release = () => undefined;
      const held = new Promise<undefined>((resolve) => {
        release = () => void resolve(undefined);
      });
      await other.route('**/graphql', async (route) => {
        if (route.request().postData()?.includes('answerNotification')) await held;
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

    test('two tabs of a browser share a stream, and both show an answer', async () => {
      await publish(gateway, 'tabs', 'plan_requested', { title: 'A plan' });
      const app = await serve('tabs');
      const one = await open(app);
      const other = await one.context().newPage();
      await other.goto(`${app.origin}/#/inbox`);
      await Promise.all([waitForLive(one), waitForLive(other)]);
      expect(app.streams).toEqual({ opened: 1, open: 1 });
      await card(one, 'A plan').getByRole('button', { name: 'Approve' }).click();
      await card(other, 'A plan').getByText('By tabs in an app').waitFor();
    });

    test('answers questions with options, several options and an own text', async () => {
      const { id } = await publish(gateway, 'ask', 'question_requested', {
        title: 'Questions',
        payload: questions,
      });
      const page = await open(await serve('ask'));
      const asked = card(page, 'Questions');
      await asked.getByLabel('XML').check();
      await asked.getByLabel('Accounting').check();
      await asked.getByLabel('The archive').check();
      await asked.getByRole('button', { name: 'Send' }).click();
      await asked.getByText('Answer every question.').waitFor();
      await asked.getByLabel('Red').check();
      await asked.getByLabel('Or else').last().fill('Green');
      await asked.getByRole('button', { name: 'Send' }).click();
      await asked.getByText('Accounting, The archive').waitFor();
      await asked.getByText('By ask in an app').waitFor();
      const { request } = await readNotification(gateway, 'ask', id);
      expect(request.answer.questions).toMatchObject([
        { index: 0, options: [1], other: null },
        { index: 1, options: [0, 1], other: null },
        { index: 2, options: [], other: 'Green' },
      ]);
    });

    test('replies to a task that awaits input', async () => {
      const { id } = await publish(gateway, 'reply', 'task_response_ready', { title: 'Done' });
      const page = await open(await serve('reply'));
      await card(page, 'Done').getByLabel('Reply').fill('Open a pull request');
      await card(page, 'Done').getByRole('button', { name: 'Send' }).click();
      await card(page, 'Done').getByText('By reply in an app').waitFor();
      const { request } = await readNotification(gateway, 'reply', id);
      expect(request.answer.reply).toEqual({ text: 'Open a pull request' });
    });

    test('expands a long plan', async () => {
      const plan = Array.from({ length: 40 }, (_, index) => `${index + 1}. Step`).join('\n');
      await publish(gateway, 'long', 'plan_requested', {
        title: 'A long plan',
        payload: { planRequested: { toolId: 'tool-l', input: { summary: 'In short', plan } } },
      });
      const page = await open(await serve('long'));
      const height = async () =>
        (await page.locator('.wa-markdown').locator('..').boundingBox())?.height ?? 0;
      await page.getByRole('button', { name: 'Show all' }).waitFor();
      const before = await height();
      await page.getByRole('button', { name: 'Show all' }).click();
      expect(await height()).toBeGreaterThan(before * 3);
    });

    test('loses nothing while the gateway restarts, and says meanwhile that it is offline', async () => {
      const database = await createTestDatabase();
      const first = await startTestGateway({}, database);
      await publish(first, 'restart', 'task_failed', { title: 'Before' });
      const app = await serve('restart', { at: first });
      const page = await open(app);
      await card(page, 'Before').waitFor();
      await waitForLive(page);
      await first.close();
      await page.getByText('The server cannot be reached.').first().waitFor();
      await page.getByRole('link', { name: 'Workspaces' }).click();
      await page
        .getByText(/The server cannot be reached\. What you see may be out of date\. Trying again in \d+ s\./)
        .waitFor();
      const second = await startTestGateway({}, database);
      await publish(second, 'restart', 'task_failed', { title: 'Meanwhile' });
      app.setGateway(second.address);
      await page.getByText('No workspaces').waitFor();
      await waitForLive(page);
      await page.getByRole('link', { name: 'Inbox' }).click();
      await card(page, 'Meanwhile').waitFor();
      await second.close();
      await database.drop();
    });

    test('continues when the token expires', async () => {
      const app = await serve('expiry', { seconds: 2 });
      const page = await open(app);
      await waitForLive(page);
      await eventually(() => expect(app.streams.opened).toBeGreaterThan(2));
      await publish(gateway, 'expiry', 'task_failed', { title: 'After' });
      await card(page, 'After').waitFor();
      expect(app.streams.open).toBeLessThan(2);
    });

    test('shows nothing of the account before when another user signs in', async () => {
      await publish(gateway, 'before', 'task_failed', { title: 'Private' });
      const users = ['before'];
      const app = await startWebApp({
        files,
        gateway,
        getToken: () => signToken({ sub: users.pop() ?? 'after', exp: Math.floor(Date.now() / 1000) + 3 }),
      });
      apps.push(app);
      const page = await open(app);
      await card(page, 'Private').waitFor();
      await page.getByText('All caught up').waitFor();
      expect(await cardTitles(page)).toEqual([]);
    });

    test('counts down when a limit is exceeded, and then recovers', async () => {
      const limited = await startTestGateway({ RATE_LIMIT_READS_PER_MINUTE: '20' });
      const page = await open(await serve('limited', { at: limited }));
      await page.getByText('All caught up').waitFor();
      const token = await member('limited');
      for (let reads = 0; reads < 20; reads += 1) await rest(limited, 'GET', '/user/workspaces', { token });
      await page.getByRole('link', { name: 'Workspaces' }).click();
      await page.getByText(/Too many requests\. Trying again in \d+ s\./).waitFor();
      await page.getByText('No workspaces').waitFor({ timeout: 70_000 });
      await limited.close();
    }, 90_000);

    test('loads earlier notifications, and shows a kind that it does not know', async () => {
      for (let number = 1; number <= 21; number += 1)
        await publish(gateway, 'many', 'task_failed', {
          title: `Number ${number}`,
          previewText: 'A preview',
        });
      const page = await open(await serve('many'));
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
      const query = '{ notificationPreferences { notificationKind pushEnabled emailEnabled } }';
      await eventually(async () =>
        expect((await asMember(gateway, 'prefs', query)).notificationPreferences).toContainEqual({
          notificationKind: 'TASK_FAILED',
          pushEnabled: false,
          emailEnabled: true,
        }),
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
      await asPlatform(
        gateway,
        `mutation ($version: ID!) { reportEditorAuthFailure(input: { userId: "editor", version: $version,
          reason: TOKEN_REVOKED }) { applied } }`,
        { version },
      );
      await page.getByText('Connect it again.').waitFor();
      await page.getByRole('button', { name: 'Disconnect' }).click();
      await page.getByRole('button', { name: 'Disconnect' }).waitFor({ state: 'detached' });
      await page.getByLabel('Access token').waitFor();
    });

    test('explains to users without an organization what they cannot set', async () => {
      const page = await open(await serve('outsider', { isMember: false }), 'settings');
      await page.getByText('Only members of an organization').nth(1).waitFor();
      expect(await findBarriers(page)).toEqual([]);
    });

    test.each(themes)(
      'has no barriers on any screen in the %s theme',
      async (colorScheme) => {
        const user = `axe-${colorScheme}`;
        for (const kind of [
          'plan_requested',
          'question_requested',
          'task_failed',
          'task_response_ready',
        ] as const)
          await publish(gateway, user, kind, { title: kind, payload: payloads[kind] });
        await publish(gateway, user, 'question_requested', { title: 'Several', payload: questions });
        const { id } = await publish(gateway, user, 'plan_requested', {
          title: 'Answered',
          expiresInSeconds: 60,
        });
        await answer(gateway, user, { id, ...answers.reject });
        await acknowledge(gateway, user, id);
        const statuses = ['CREATING', 'ERROR', 'RUNNING', 'STOPPED', 'STOPPING'];
        await putWorkspaces(
          gateway,
          user,
          statuses.map((status) =>
            workspaceInput({ status, ...(status === 'ERROR' && { errorMessage: 'Full' }) }),
          ),
        );
        const [app, empty] = [await serve(user), await serve(`${user}-empty`)];
        for (const width of sizes) {
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
            const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
            expect(overflow, `${screen} at ${width}`).toBeLessThanOrEqual(0);
            await page.context().close();
          }
        }
      },
      120_000,
    );

    test('has no barriers while it loads, when loading fails, and in its messages', async () => {
      await publish(gateway, 'states', 'plan_requested', { title: 'A plan' });
      const app = await serve('states');
      const page = await open(app);
      await page.getByRole('button', { name: 'Request changes' }).click();
      await page.getByRole('button', { name: 'Dismiss: A plan' }).click();
      await page.getByRole('button', { name: 'Undo' }).waitFor();
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
  },
);
