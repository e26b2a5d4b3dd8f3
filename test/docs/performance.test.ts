import { expect, test } from 'vitest';
import { documents, readResults } from '../../bench/report.ts';
import { readPage } from '../support/documentation.ts';

test.each(Object.entries(documents))('%s has the recorded results of the bench', (path, update) => {
  const { text } = readPage(path);
  expect(update(text, readResults())).toBe(text);
});
