import { createSecretKey, randomBytes } from 'node:crypto';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createUnsubscribeTokens, toUnsubscribeUrl } from '../../src/delivery/email/unsubscribe-token.ts';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { asMember, publish } from '../support/records.ts';

if (!hasBrowser)
  process.stdout.write('unsubscribe-browser.test.ts: chromium was not found on the PATH, skipping.\n');

describe.skipIf(!hasBrowser)(
  `unsubscribing in Chromium${hasBrowser ? '' : ' (skipped: chromium was not found on the PATH)'}`,
  () => {
    const key = randomBytes(32);
    const tokens = createUnsubscribeTokens(new Map([['k1', createSecretKey(key)]]));
    let browser: Browser;
    let gateway: TestGateway;
    beforeAll(async () => {
      gateway = await startTestGateway({ ENCRYPTION_KEYS: `k1:${key.toString('base64')}` });
      await publish(gateway, 'alice');
      browser = await startBrowser();
    });
    afterAll(async () => {
      await browser.close();
      await gateway.close();
    });

    const readEmailByKind = async () => {
      const query = '{ notificationPreferences { notificationKind emailEnabled } }';
      const { notificationPreferences } = await asMember(gateway, 'alice', query);
      return Object.fromEntries(
        notificationPreferences.map((one: { notificationKind: string; emailEnabled: boolean }) => [
          one.notificationKind,
          one.emailEnabled,
        ]),
      );
    };

    test('opening the link changes nothing, and the button turns email about the kind off', async () => {
      const link = toUnsubscribeUrl(gateway.address, tokens.sign({ userId: 'alice', kind: 'task_failed' }));
      const { page, issues } = await openPage(browser, link);
      await page.getByRole('heading', { name: 'Stop email about failed tasks?' }).waitFor();
      expect(await readEmailByKind()).toMatchObject({ TASK_FAILED: true });

      await page.getByRole('button', { name: 'Stop this email' }).click();
      await page.getByRole('heading', { name: 'Email about failed tasks is off' }).waitFor();
      expect(page.url()).toBe(link);
      expect(await readEmailByKind()).toEqual({
        PLAN_REQUESTED: true,
        QUESTION_REQUESTED: true,
        TASK_FAILED: false,
        TASK_RESPONSE_READY: true,
      });
      expect(issues).toEqual([]);
    });
  },
);
