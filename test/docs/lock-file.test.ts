import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

const Entry = z.looseObject({
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
});
const LockFile = z.object({ packages: z.record(z.string(), Entry) });

let entries: [folder: string, entry: z.output<typeof Entry>][];
beforeAll(async () => {
  const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
  entries = Object.entries(LockFile.parse(JSON.parse(text)).packages).filter(([folder]) =>
    folder.includes('node_modules/'),
  );
});

test('every package has an integrity', () => {
  const without = entries.filter(([, { link, integrity }]) => link !== true && integrity === undefined);
  expect(entries.length).toBeGreaterThan(500);
  expect(without.map(([folder]) => folder)).toEqual([]);
});

test('every integrity uses SHA-512', () => {
  const integrities = entries.flatMap(([, { integrity }]) => integrity ?? []);
  expect(integrities.filter((integrity) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
});

test('no entry contains the URL that the package was fetched from', () => {
  expect(entries.filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual([]);
});
