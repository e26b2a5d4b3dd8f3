import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';

const source = await readFile(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');

/** Returns what axe finds on a page: each broken rule, with the elements that break it. */
export async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(source);
  return page.evaluate(async () => {
    const axe = Reflect.get(window, 'axe');
    const { violations } = await axe.run();
    return violations.map(
      ({ id, help, nodes }: { id: string; help: string; nodes: { html: string }[] }) =>
        `${id} (${help}): ${nodes.map(({ html }) => html.slice(0, 200)).join(' | ')}`,
    );
  });
}
