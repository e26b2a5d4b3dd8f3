import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { type Page, pages, readBlocks, readPage } from '../support/documentation.ts';

/* Links refer to existing files and headings, and pages name existing scripts, programs and folders. */

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** Images must load quickly. */
const MAX_IMAGE_BYTES = 200 * 1024;

const MAX_README_LINES = 150;

const linked = [...pages, readPage('CONTRIBUTING.md')];

const withoutCode = ({ text }: Page) =>
  text.replaceAll(/^ *```.*?^ *```$/gms, '').replaceAll(/`[^`\n]*`/g, 'code');

/** Returns the anchors of a page's headings, as GitHub generates them. */
function findAnchors({ text }: Page): string[] {
  const headings = text.replaceAll(/^```.*?^```$/gms, '').matchAll(/^#+ (.+)$/gm);
  return Array.from(headings, ([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Returns the targets of a page's links and images to other files and headings. */
function findTargets(page: Page): string[] {
  const targets = withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g);
  return Array.from(targets, ([, target = '']) => target).filter((target) => !/^https?:/.test(target));
}

/** Returns why a link is broken, or undefined if it is not. */
function findProblem({ path }: Page, target: string): string | undefined {
  const [file = '', anchor] = target.split('#');
  const found = file === '' ? path : relative(repository, join(repository, dirname(path), file));
  if (!existsSync(join(repository, found))) return `${path}: no file ${target}`;
  if (anchor === undefined || extname(found) !== '.md') return undefined;
  return findAnchors(readPage(found)).includes(anchor) ? undefined : `${path}: no heading ${target}`;
}

test('every link refers to an existing file and heading', () => {
  const links = linked.flatMap((page) => findTargets(page).map((target) => ({ page, target })));
  expect(links.length).toBeGreaterThan(50);
  expect(links.flatMap(({ page, target }) => findProblem(page, target) ?? [])).toEqual([]);
});

test('every page of docs/ is linked from the README', () => {
  const targets = pages.filter(({ path }) => path === 'README.md').flatMap(findTargets);
  expect(
    pages.map(({ path }) => path).filter((path) => path !== 'README.md' && !targets.includes(path)),
  ).toEqual([]);
});

test('every script and program that a page names exists', () => {
  const commands = linked.flatMap(({ text }) => [...text.matchAll(/npm run (?:-s )?([\w:-]+)/g)]);
  expect(commands.length).toBeGreaterThan(10);
  expect(commands.map(([, name = '']) => name).filter((name) => !(name in packageJson.scripts))).toEqual([]);
  const programs = linked
    .flatMap(readBlocks)
    .flatMap(({ content }) => content.match(/(?<![\w/])(?:src|rest)\/[\w./-]+\.ts/g) ?? []);
  expect(programs.filter((path) => !existsSync(join(repository, path)))).toEqual([]);
});

test('the README has at most 150 lines, and images are small and used', () => {
  const lines = readPage('README.md').text.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(MAX_README_LINES);
  const images = readdirSync(join(repository, 'docs/images')).map((name) => `docs/images/${name}`);
  for (const path of images) {
    expect(statSync(join(repository, path)).size, path).toBeLessThan(MAX_IMAGE_BYTES);
    expect(
      pages.flatMap(findTargets).some((target) => path.endsWith(target)),
      path,
    ).toBe(true);
  }
});

test('the map in CONTRIBUTING.md contains every folder of src/, with features as <feature>', () => {
  const guide = readPage('CONTRIBUTING.md').text;
  const folders = readdirSync(join(repository, 'src'), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
  const isMissing = (name: string) =>
    !existsSync(join(repository, `src/${name}/${name}.graphql.ts`)) && !guide.includes(`src/${name}/`);
  expect(folders.filter(isMissing)).toEqual([]);
});

test('every documented command that changes the database is given the settings of the gateway', () => {
  const lines = pages.flatMap(readBlocks).flatMap(({ content }) => content.split('\n'));
  const commands = lines.filter((line) => /src\/commands\/(migrate|rotate-keys|renew-epoch)\.ts/.test(line));
  expect(commands.length).toBeGreaterThan(4);
  // A service of Compose has its `env_file`.
  expect(commands.filter((line) => !/--env-file[= ]|docker compose run/.test(line))).toEqual([]);
});
