import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errors } from 'jose';
import { expect, test } from 'vitest';
import { readPage } from '../support/documentation.ts';

/* docs/troubleshooting.md quotes messages, with … in place of values. */

const repository = fileURLToPath(new URL('../..', import.meta.url));

/** The code of the gateway, with each string in one piece. */
const code = ['src', 'dev/postgres']
  .flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(repository, folder, name), 'utf8')),
  )
  .join('\n')
  .replaceAll(/['`] \+\s+['`]/g, '');

/** The quoted texts in the column of symptoms. */
const symptoms = [...readPage('docs/troubleshooting.md').text.matchAll(/^\| ([^|]+) \|/gm)].flatMap(
  ([, cell = '']) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, text = '']) => text),
);

test('every quoted message is one of the gateway', () => {
  const messages = symptoms.filter((text) => text.includes(' '));
  expect(messages.length).toBeGreaterThan(12);
  const isPrinted = (message: string) => message.split('…').every((part) => code.includes(part));
  expect(messages.filter((message) => !isPrinted(message))).toEqual([]);
});

test('every quoted code of a rejected token is one of jose', () => {
  const codes = symptoms.filter((text) => text.startsWith('ERR_'));
  expect(codes.length).toBeGreaterThan(2);
  const known: string[] = Object.values(errors).map(({ code }) => code);
  expect(codes.filter((code) => !known.includes(code))).toEqual([]);
});
