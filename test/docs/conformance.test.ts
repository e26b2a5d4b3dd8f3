import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readPage } from '../support/documentation.ts';

const { text } = readPage('docs/conformance.md');
const rows = [...text.matchAll(/^\| (?!statement|-)(.+?) +\| (.+?) +\| (.+?) +\|$/gm)].map(
  ([, statement = '', reading = '', tests = '']) => ({ statement, reading, tests }),
);

/** The files and titles of tests that a row cites. */
const citations = ({ tests }: { tests: string }) =>
  [...tests.matchAll(/\[([\w/.-]+)\]\(\.\.\/test\/\1\.test\.ts\): "(.+?)"(?=;|$)/g)].map(
    ([, file = '', title = '']) => ({ file, title }),
  );

test('docs/conformance.md has a reading and a test for every statement', () => {
  expect(rows.length).toBeGreaterThan(50);
  for (const row of rows) {
    expect(citations(row).length, row.statement).toBe(row.tests.split('; [').length);
    expect(citations(row).length, row.statement).toBeGreaterThan(0);
  }
});

test.each(rows.flatMap(citations))(
  'docs/conformance.md cites a test that exists: $file, "$title"',
  (cited) => {
    const source = readFileSync(new URL(`../${cited.file}.test.ts`, import.meta.url), 'utf8');
    expect(source).toContain(cited.title);
  },
);
