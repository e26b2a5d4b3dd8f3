import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errors as joseErrors } from 'jose';
import { expect, test } from 'vitest';
import { documents, readResults } from '../../bench/report.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type Page, pages, readBlocks, readPage } from '../support/documentation.ts';

/*
 * Links refer to existing files and headings; pages name existing scripts, programs, folders, tests and messages, and have
 * the recorded results of the bench.
 */

const repository = fileURLToPath(new URL('../..', import.meta.url));

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

test("programs outside src/ are run by the repository's Node.js, because the system's may be older", () => {
  const lines = linked.flatMap(
    ({ text }) => text.match(/^.*\bnode (bench|dev|docs|examples|test)\/\S+/gm) ?? [],
  );
  expect(lines.length).toBeGreaterThan(1);
  expect(lines.filter((line) => !line.includes('npx node '))).toEqual([]);
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

test.each(Object.entries(documents))('%s has the recorded results of the bench', (path, update) => {
  const { text } = readPage(path);
  expect(update(text, readResults())).toBe(text);
});

test('every quoted message in docs/troubleshooting.md is one of the gateway, and every code one of jose', () => {
  const folders = ['src', 'dev/postgres'].map((folder) => join(repository, folder));
  const code = folders
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(folder, name), 'utf8')),
    )
    .join('\n')
    .replaceAll(/['`] \+\s+['`]/g, '');
  const cells = readPage('docs/troubleshooting.md').text.matchAll(/^\| ([^|]+) \|/gm);
  const symptoms = [...cells].flatMap(([, cell = '']) =>
    Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = '']) => text),
  );
  // Quotations have … in place of values.
  const messages = symptoms.filter((text) => text.includes(' '));
  expect(messages.length).toBeGreaterThan(12);
  const isPrinted = (message: string) => message.split('…').every((part) => code.includes(part));
  expect(messages.filter((message) => !isPrinted(message))).toEqual([]);
  const codes = symptoms.filter((text) => text.startsWith('ERR_'));
  const known: string[] = Object.values(joseErrors).map(({ code }) => code);
  expect(codes.filter((code) => !known.includes(code))).toEqual([]);
});

const statements = [
  ...readPage('docs/conformance.md').text.matchAll(/^\| (?!statement|-)(.+?) +\| (.+?) +\| (.+?) +\|$/gm),
].map(([, statement = '', , tests = '']) => ({
  statement,
  number: tests.split('; [').length,
  cited: Array.from(
    tests.matchAll(/\[([\w/.-]+)\]\(\.\.\/test\/\1\.test\.ts\): "(.+?)"(?=;|$)/g),
    ([, file = '', title = '']) => ({ file, title }),
  ),
}));

test('docs/conformance.md has a reading and a test for every statement', () => {
  expect(statements.length).toBeGreaterThan(50);
  for (const { statement, number, cited } of statements) expect(cited.length, statement).toBe(number);
});

test.each(statements.flatMap(({ cited }) => cited))(
  'docs/conformance.md cites a test that exists: $file, "$title"',
  ({ file, title }) => {
    expect(readFileSync(join(repository, `test/${file}.test.ts`), 'utf8')).toContain(title);
  },
);
