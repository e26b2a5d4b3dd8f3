import { createSecretKey, randomBytes } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import { version } from '../../src/version.ts';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import {
  type DevelopmentGateway,
  findReferenceUrl,
  seed,
  startDevelopmentGateway,
} from '../support/development.ts';
import { findLowContrast } from './contrast.ts';

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

    describe('the REST reference', () => {
      test('has a token in development, which is neither in its URL nor stored', async () => {
        const { page, issues } = await openPage(browser, findReferenceUrl(gateway));
        await page.getByText('Get editor auth status').waitFor();
        await page.getByText(`0.1.0 (gateway ${version})`).waitFor();
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
    });

    test.each(themes)('the unsubscribe page has sufficient contrast in the %s theme', async (colorScheme) => {
      const link = toUnsubscribeUrl(gateway.address, tokens.sign({ userId: 'alice', kind: 'task_failed' }));
      const { page } = await openPage(browser, link);
      await page.emulateMedia({ colorScheme });
      await page.getByRole('heading').waitFor();
      const background = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(background).toBe(colorScheme === 'dark' ? 'rgb(20, 24, 29)' : 'rgb(255, 255, 255)');
      expect(await findLowContrast(page, 4.5)).toEqual([]);
    });
  },
);
