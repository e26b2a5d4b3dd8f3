import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { openPage, startBrowser } from '../test/support/browser.ts';

/*
 * Takes the screenshots of README.md from a running gateway with the records of `npm run -s seed -- --user alice`. The
 * arguments are the URL of GraphiQL that the gateway printed, and that which `npm run example:inbox` printed:
 *   npx node docs/take-screenshots.ts 'http://127.0.0.1:4000/graphql#key=...' http://localhost:5173/
 */

const [graphiqlUrl = '', inboxUrl = ''] = process.argv.slice(2);

const query = `query Inbox {
  notificationCounts {
    total
  }
  notifications(first: 3, filter: { statuses: [ACTIVE] }) {
    nodes {
      __typename
      ... on UserNotification {
        id
        title
        projectName
      }
      ... on PlanRequestedNotification {
        payload {
          summary
        }
      }
    }
  }
}
`;

const browser = await startBrowser();
try {
  await takeGraphiql();
  await takeReference();
  await takeInbox();
} finally {
  await browser.close();
}

async function takeGraphiql(): Promise<void> {
  const { page } = await openPage(browser, graphiqlUrl);
  await page.setViewportSize({ width: 1200, height: 760 });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.evaluate((text) => navigator.clipboard.writeText(text), query);
  await page.locator('.graphiql-query-editor .monaco-editor').click();
  await page.keyboard.press('ControlOrMeta+a');
  await page.keyboard.press('ControlOrMeta+v');
  await page.getByRole('tab', { name: 'Inbox', selected: true }).waitFor();
  await page.getByRole('button', { name: 'Execute query' }).click();
  await page.locator('.graphiql-response', { hasText: 'projectName' }).waitFor();
  // They show the token.
  await page.getByRole('button', { name: 'Hide editor tools' }).click();
  await save(page, 'graphiql.png');
}

async function takeReference(): Promise<void> {
  const { page } = await openPage(browser, new URL('docs', graphiqlUrl).href);
  await page.setViewportSize({ width: 1200, height: 760 });
  const paths = page.locator('.opblock-tag-section').first();
  await paths.waitFor();
  await paths.evaluate((section) => section.scrollIntoView());
  await save(page, 'reference.png');
}

async function takeInbox(): Promise<void> {
  const { page } = await openPage(browser, inboxUrl);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1200, height: 760 });
  await page.getByText('Live', { exact: true }).waitFor();
  await page.getByRole('button', { name: 'Approve' }).first().waitFor();
  await save(page, 'inbox.png');
}

async function save(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: fileURLToPath(new URL(`images/${name}`, import.meta.url)) });
}
