import { createSecretKey, randomBytes } from 'node:crypto';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { findLowContrast } from '../support/contrast.ts';
import {
  type DevelopmentGateway,
  findGraphiqlUrl,
  findReferenceUrl,
  seed,
  startDevelopmentGateway,
} from '../support/development.ts';
import { startTestGateway } from '../support/gateway.ts';

if (!hasBrowser)
  process.stdout.write('pages-browser.test.ts: chromium was not found on the PATH, skipping.\n');

const themes = ['light', 'dark'] as const;

describe.skipIf(!hasBrowser)(
  `pages in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    const key = randomBytes(32);
    const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(key)]]));
    let browser: Browser;
    let gateway: DevelopmentGateway;
    beforeAll(async () => {
      const ENCRYPTION_KEYS = `k1:${key.toString('base64')}`;
      gateway = await startDevelopmentGateway({ GRAPHIQL: 'true', ENCRYPTION_KEYS });
      await seed(gateway, 'alice');
      browser = await startBrowser();
    });
    afterAll(async () => {
      await browser.close();
      await gateway.close();
    });

    const rules = (page: Page) => page.getByRole('heading', { name: 'Rules of every operation' });

    describe('the REST reference', () => {
      test('leads with the operations, GET first in each section, and marks extensions', async () => {
        const { page, issues } = await openPage(browser, findReferenceUrl(gateway));
        await rules(page).waitFor();
        const operations = page.locator('.opblock-summary');
        const shown = await operations.evaluateAll((all) =>
          all.map((one) =>
            ['method', 'path', 'description']
              .map((part) =>
                one.querySelector(`.opblock-summary-${part}`)?.textContent?.replaceAll('\u200b', ''),
              )
              .join(' '),
          ),
        );
        expect(shown).toEqual([
          'GET /user/notifications List notifications (extension)',
          'GET /user/notifications/{id} Get a notification (extension)',
          'GET /user/notification-counts Count active notifications (extension)',
          'POST /user/notifications/{id}/dismiss Dismiss a notification',
          'POST /user/notifications/dismiss Dismiss several notifications (extension)',
          'POST /user/notifications/{id}/answer Answer a notification (extension)',
          'GET /user/notification-preferences List notification preferences (extension)',
          'PUT /user/notification-preferences Update notification preferences',
          'PATCH /user/notification-preferences Change some notification preferences (extension)',
          'GET /editor/auth Get editor auth status',
          'PUT /editor/auth/subscription Store editor subscription auth',
          'DELETE /editor/auth Delete editor auth (extension)',
          'GET /user/workspaces List all workspaces',
          'GET /workspaces List all workspaces',
        ]);
        const top = async (element: ReturnType<Page['locator']>) => (await element.boundingBox())?.y ?? 0;
        expect(await top(operations.first())).toBeLessThan(600);
        expect(await top(rules(page))).toBeGreaterThan(await top(operations.last()));
        await page.getByText('RFC 3339 in UTC with milliseconds').waitFor();
        expect(issues).toEqual([]);
      });

      test('has a token in development, which is neither in its URL nor stored', async () => {
        const { page, issues } = await openPage(browser, findReferenceUrl(gateway));
        await page.getByText('Requests are sent with a token for the user alice').waitFor();
        expect(page.url()).toBe(`${gateway.address}/docs`);
        expect(await page.evaluate(() => JSON.stringify([localStorage, sessionStorage]))).not.toContain(
          'eyJ',
        );

        await page.getByText('Get editor auth status').click();
        await page.getByRole('button', { name: 'Try it out' }).click();
        await page.getByRole('button', { name: 'Execute' }).click();
        await page.locator('.live-responses-table', { hasText: '"needs_reauth": false' }).waitFor();
        expect(issues).toEqual([]);
      });

      test('says how to get a token if it was opened without the key, and nothing where it cannot get one', async () => {
        const how = 'open the URL of this page that the gateway printed when it started';
        const { page } = await openPage(browser, `${gateway.address}/docs`);
        await page.getByText(how).waitFor();

        const without = await startTestGateway();
        const other = await openPage(browser, `${without.address}/docs`);
        await rules(other.page).waitFor();
        expect(
          await other.page.getByText(/Requests are sent with a token|printed when it started/).count(),
        ).toBe(0);
        await without.close();
      });

      test.each(themes)('has sufficient contrast in the %s theme', async (colorScheme) => {
        const { page } = await openPage(browser, findReferenceUrl(gateway));
        await page.emulateMedia({ colorScheme });
        await page.getByText('List all workspaces').first().click();
        await page.getByText('Try it out').waitFor();
        // Lower than on the other pages because of the colors of numbers in Swagger UI's examples.
        expect(await findLowContrast(page, 3.4)).toEqual([]);
      });
    });

    test.each(themes)(
      'the start page and the unsubscribe page have sufficient contrast in the %s theme',
      async (colorScheme) => {
        const link = toUnsubscribeUrl(gateway.address, tokens.sign({ userId: 'alice', kind: 'task_failed' }));
        for (const address of [`${gateway.address}/`, link]) {
          const { page } = await openPage(browser, address);
          await page.emulateMedia({ colorScheme });
          await page.getByRole('heading').waitFor();
          const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
          expect(background).toBe(colorScheme === 'dark' ? 'rgb(20, 24, 29)' : 'rgb(255, 255, 255)');
          expect(await findLowContrast(page, 4.5)).toEqual([]);
        }
      },
    );

    test('the menu of GraphiQL has the colors of the theme, which the user can choose', async () => {
      const { page } = await openPage(browser, findGraphiqlUrl(gateway));
      // By selector, because the dialog of the settings hides the menu from screen readers.
      const menu = page.locator('.graphiql-logo select');
      await menu.waitFor();
      const readColors = () =>
        menu.evaluate((element) => {
          const container = element.closest('.graphiql-container') ?? element;
          const [own, around] = [getComputedStyle(element), getComputedStyle(container)];
          return { background: own.backgroundColor, around: around.backgroundColor, text: own.color };
        });
      const light = {
        background: 'rgb(255, 255, 255)',
        around: 'rgb(255, 255, 255)',
        text: 'rgb(59, 75, 104)',
      };
      const dark = { background: 'rgb(33, 42, 59)', around: 'rgb(33, 42, 59)', text: 'rgb(183, 194, 215)' };
      await page.emulateMedia({ colorScheme: 'light' });
      expect(await readColors()).toEqual(light);
      await page.emulateMedia({ colorScheme: 'dark' });
      expect(await readColors()).toEqual(dark);
      await page.getByRole('button', { name: 'Open settings dialog' }).click();
      await page.getByRole('button', { name: 'Light', exact: true }).click();
      expect(await readColors()).toEqual(light);
    });
  },
);
