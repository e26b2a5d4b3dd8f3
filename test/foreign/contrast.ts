import type { Page } from 'playwright-core';

/**
 * Returns the texts of a page whose contrast with the background is lower than a ratio (WCAG 2, success criterion 1.4.3),
 * each with the colors.
 */
export function findLowContrast(page: Page, minimum: number): Promise<string[]> {
  return page.evaluate((required) => {
    const parse = (color: string) => (color.match(/[\d.]+/g) ?? []).map(Number);
    const luminance = (color: readonly number[]) => {
      const [red = 0, green = 0, blue = 0] = color.map((value) => {
        const share = value / 255;
        return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
      });
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    /** Lays colors with transparency over each other, beginning with the one at the bottom. */
    const blend = (colors: readonly number[][]) =>
      colors.reduce(
        (below, [red = 0, green = 0, blue = 0, alpha = 1]) =>
          [red, green, blue].map((value, index) => alpha * value + (1 - alpha) * (below[index] ?? 0)),
        matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255],
      );
    const found = new Set<string>();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const element = node.parentElement;
      const text = node.nodeValue?.trim();
      if (!text || !element?.checkVisibility() || element.closest('script, style, noscript, option'))
        continue;
      const behind: number[][] = [];
      for (let one: Element | null = element; one !== null; one = one.parentElement)
        behind.unshift(parse(getComputedStyle(one).backgroundColor));
      const background = blend(behind);
      const { color } = getComputedStyle(element);
      const [darker = 0, lighter = 0] = [
        luminance(blend([...behind, parse(color)])),
        luminance(background),
      ].sort((left, right) => left - right);
      const ratio = (lighter + 0.05) / (darker + 0.05);
      if (ratio < required)
        found.add(
          `${ratio.toFixed(1)} ${element.tagName} "${text.slice(0, 40)}" ${color} on ${background.map(Math.round)}`,
        );
    }
    return [...found];
  }, minimum);
}
