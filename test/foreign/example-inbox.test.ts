import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { hasBrowser, openPage, startBrowser } from '../support/browser.ts';
import { seed, startDevelopmentGateway } from '../support/development.ts';
import { captureOutput } from '../support/process.ts';

test.skipIf(!hasBrowser)(
  '`npm run example:inbox` serves the inbox of the seeded user with tokens of the development key, to its own origin',
  async () => {
    const gateway = await startDevelopmentGateway();
    await seed(gateway, 'alice');
    // In a process group, because npm does not pass signals on to Vite.
    const child = spawn('npm', ['run', 'example:inbox', '--', '--host', '127.0.0.1'], {
      cwd: fileURLToPath(new URL('../../', import.meta.url)),
      env: {
        ...process.env,
        NO_COLOR: '1',
        DATA_DIR: gateway.settings.DATA_DIR ?? '',
        GATEWAY_URL: gateway.address,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    });
    const vite = captureOutput(child, 'npm run example:inbox');
    const browser = await startBrowser();
    try {
      const { page, issues } = await openPage(browser, await vite.waitForOutput(/(http:\/\/127\S+)/));
      await page.getByText('Live', { exact: true }).waitFor();
      await page.getByRole('article', { name: 'Approve the plan for the cart' }).waitFor();
      const requestToken = async (headers: Record<string, string>) =>
        (await fetch(new URL('/token', page.url()), { headers })).status;
      expect(await requestToken({})).toBe(200);
      expect(await requestToken({ Origin: 'http://localhost:3000' })).toBe(403);
      expect(await requestToken({ 'Sec-Fetch-Site': 'same-site' })).toBe(403);
      // Vite's own socket reports changes of files.
      expect(issues.filter((issue) => !issue.startsWith('socket:'))).toEqual([]);
    } finally {
      await browser.close();
      process.kill(-vite.pid, 'SIGTERM');
      await vite.ended;
      await gateway.close();
    }
  },
  90_000,
);
