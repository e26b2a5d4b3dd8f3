import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type AnsweringGateway,
  publishByMail,
  sendForm,
  startAnsweringGateway,
} from '../support/answer-page.ts';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { readNotification } from '../support/requests.ts';
import { findBarriers } from './axe.ts';

if (!hasBrowser)
  process.stdout.write('answer-browser.test.ts: chromium was not found on the PATH, skipping.\n');

const word = 'Donaudampfschifffahrtsgesellschaft'.repeat(4);
const plan = `## Steps\n\n1. Do it\n   - ${word}\n\n\`\`\`ts\n${word}\n\`\`\`\n\n| a | b |\n|---|---|\n| ${word} | c |\n\n> [here](https://a.example/${word})`;
const options = [{ label: word, description: word, preview: word }, { label: 'B' }];
const asked = [
  { question: `Which? ${word}`, options },
  { question: 'Which ones?', options, multiSelect: true },
  { question: 'Why?', options: [] },
];

describe.skipIf(!hasBrowser)(
  `answering in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    let browser: Browser;
    let gateway: AnsweringGateway;
    beforeAll(async () => {
      [gateway, browser] = await Promise.all([startAnsweringGateway(), startBrowser()]);
    });
    afterAll(async () => {
      await browser.close();
      await gateway.close();
    });

    test('a plan is approved by the keyboard, after pressing the button without a choice did nothing', async () => {
      const { id, link } = await publishByMail(gateway, 'alice');
      const { page, issues } = await openPage(browser, link);
      const send = page.getByRole('button', { name: 'Send answer' });
      await send.click();
      expect((await readNotification(gateway, 'alice', id)).request.state).toBe('OPEN');
      await page.getByRole('radio', { name: 'Approve' }).focus();
      await page.keyboard.press('Space');
      await page.keyboard.press('Tab');
      await page.keyboard.type('Mind the tests');
      await page.keyboard.press('Tab');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Your answer is stored' }).waitFor();
      expect((await readNotification(gateway, 'alice', id)).request.answer).toMatchObject({
        via: 'EMAIL',
        plan: { decision: 'APPROVE', feedback: 'Mind the tests' },
      });
      // Going back and choosing again shows the winner.
      await page.goBack();
      await page.goto(link);
      await page.getByText('by link in a mail').waitFor();
      expect(issues).toEqual([]);
    });

    test.each([
      ['light', 1280, 'en-US'],
      ['dark', 320, 'de-DE'],
      ['light', 320, 'en-US'],
      ['dark', 1280, 'de-DE'],
    ] as const)(
      'the pages fit and have no barriers: %s, %i pixels, %s',
      async (colorScheme, width, locale) => {
        const userId = `${colorScheme}-${width}`;
        const onePlan = await publishByMail(gateway, userId, 'plan_requested', {
          expiresInSeconds: 3600,
          projectName: word,
          payload: {
            planRequested: { toolId: 't', input: { summary: word, plan, [word]: { [word]: word } } },
          },
        });
        const answered = await publishByMail(gateway, userId, 'task_response_ready');
        await sendForm(answered.link, { 'text-0': word });
        const open = await publishByMail(gateway, userId, 'question_requested', {
          payload: { questionRequested: { toolId: 't', input: { questions: asked } } },
        });
        const context = await browser.newContext({ viewport: { width, height: 800 }, colorScheme, locale });
        const page = await context.newPage();
        for (const link of [onePlan.link, answered.link, open.link, `${open.link}x`]) {
          await page.goto(link);
          if (link === open.link) {
            await page.evaluate(() => document.querySelector('form')?.submit());
            await page.getByRole('alert').waitFor();
          }
          expect(await findBarriers(page)).toEqual([]);
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
          expect(await page.getAttribute('html', 'lang')).toBe(locale.slice(0, 2));
        }
        await context.close();
      },
    );

    test('another site can neither frame the page, nor send its form, nor learn its address', async () => {
      const { id, link } = await publishByMail(gateway, 'framed', 'plan_requested', {
        payload: {
          planRequested: { toolId: 't', input: { summary: 's', plan: '[a](http://127.0.0.1:1/x)' } },
        },
      });
      const page = await browser.newPage();
      await page.setContent(`<iframe src="${link}"></iframe>
        <form method="post" action="${link}"><input name="choice-0" value="0"><button>Win</button></form>`);
      await page.waitForLoadState('networkidle');
      expect(await page.frames().at(-1)?.content()).not.toContain('A title');
      await page.getByRole('button', { name: 'Win' }).click();
      await page.getByRole('heading', { name: 'The answer could not be read' }).waitFor();
      expect((await readNotification(gateway, 'framed', id)).request.state).toBe('OPEN');
      await page.goto(link);
      const [request] = await Promise.all([
        page.waitForRequest(/127\.0\.0\.1:1\//),
        page.getByRole('link', { name: 'a', exact: true }).click(),
      ]);
      expect(request.headers().referer).toBeUndefined();
      await page.close();
    });
  },
);
