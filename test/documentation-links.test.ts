import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { type Page, pages, readBlocks, readPage } from './support/documentation.ts';

/* Links lead to files and headings that exist, and commands name scripts and programs that exist. */

const repository = fileURLToPath(new URL('..', import.meta.url));

/** The images of the documentation load quickly. */
const MAX_IMAGE_BYTES = 200 * 1024;

const MAX_README_LINES = 150;

const linked = [...pages, readPage('CONTRIBUTING.md')];

const withoutCode = ({ text }: Page) =>
  text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');

/** The anchors of a page's headings, as GitHub derives them. */
function anchorsOf({ text }: Page): string[] {
  const headings = text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** The targets of a page's links and images to other files and headings. */
function targetsOf(page: Page): string[] {
  const targets = withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g);
  return Array.from(targets, ([, target = '']) => target).filter((target) => !/^https?:/.test(target));
}

/** Why a link leads nowhere; undefined if it leads somewhere. */
function problemOf({ path }: Page, target: string): string | undefined {
  const [file = '', anchor] = target.split('#');
  const found = file === '' ? path : relative(repository, join(repository, dirname(path), file));
  if (!existsSync(join(repository, found))) return `${path}: no file ${target}`;
  if (anchor === undefined || extname(found) !== '.md') return undefined;
  return anchorsOf(readPage(found)).includes(anchor) ? undefined : `${path}: no heading ${target}`;
}

test('every link leads to a file and a heading', () => {
  const links = linked.flatMap((page) => targetsOf(page).map((target) => ({ page, target })));
  expect(links.length).toBeGreaterThan(50);
  expect(links.flatMap(({ page, target }) => problemOf(page, target) ?? [])).toEqual([]);
});

test('every page of docs/ is linked from the README', () => {
  const targets = pages.filter(({ path }) => path === 'README.md').flatMap(targetsOf);
  expect(
    pages.map(({ path }) => path).filter((path) => path !== 'README.md' && !targets.includes(path)),
  ).toEqual([]);
});

test('every script and program in a command exists', () => {
  const commands = linked.flatMap(({ text }) => [...text.matchAll(/npm run (?:-s )?([\w:]+)/g)]);
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.map(([, name = '']) => name).filter((name) => !(name in packageJson.scripts))).toEqual([]);
  const programs = linked
    .flatMap(readBlocks)
    .flatMap(({ content }) => content.match(/src\/[\w/-]+\.ts/g) ?? []);
  expect(programs.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});

test('the README is short, and images are small and used', () => {
  const lines = readPage('README.md').text.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(MAX_README_LINES);
  const images = readdirSync(join(repository, 'docs/images')).map((name) => `docs/images/${name}`);
  for (const path of images) {
    expect(statSync(join(repository, path)).size, path).toBeLessThan(MAX_IMAGE_BYTES);
    expect(
      pages.flatMap(targetsOf).some((target) => path.endsWith(target)),
      path,
    ).toBe(true);
  }
});
