import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { z } from 'zod';

const Entry = z.object({
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().default(false),
});
const LockFile = z.object({ packages: z.record(z.string(), Entry) });

test('every installed package has a SHA-512 integrity, and not the URL that it was fetched from', async () => {
  const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
  const installed = Object.entries(LockFile.parse(JSON.parse(text)).packages).filter(
    ([folder, { link }]) => folder.includes('node_modules/') && !link,
  );
  expect(installed.length).toBeGreaterThan(500);
  const isWrong = ({ integrity = '', resolved }: z.output<typeof Entry>) =>
    resolved !== undefined || !/^sha512-[\w+/]{86}==$/.test(integrity);
  expect(installed.filter(([, entry]) => isWrong(entry)).map(([folder]) => folder)).toEqual([]);
});
