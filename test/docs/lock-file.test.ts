import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { z } from 'zod';

const Names = z.union([z.array(z.string()), z.string().transform((name) => [name])]);
const Entry = z.looseObject({
  version: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
  dev: z.boolean().optional(),
  optional: z.boolean().optional(),
  os: Names.optional(),
  cpu: Names.optional(),
  libc: Names.optional(),
});
const LockFile = z.object({ packages: z.record(z.string(), Entry) });

let entries: [folder: string, entry: z.output<typeof Entry>][];
beforeAll(async () => {
  const text = await readFile(new URL('../../package-lock.json', import.meta.url), 'utf8');
  entries = Object.entries(LockFile.parse(JSON.parse(text)).packages).filter(([folder]) =>
    folder.includes('node_modules/'),
  );
});

/**
 * Binaries of development tools for platforms other than Linux on x64 or arm64 with glibc. The registry did not offer
 * these versions when the lock file was created, and `npm ci` rejects the file without their entries.
 */
function isForeignBinary(folder: string, { dev, optional, ...entry }: z.output<typeof Entry>): boolean {
  const { os = [], cpu = [], libc = ['glibc'] } = entry;
  const isOurs =
    os.includes('linux') && libc.includes('glibc') && ['x64', 'arm64'].some((name) => cpu.includes(name));
  return (
    /^node_modules\/@(biomejs\/cli|oxc-parser\/binding)-/.test(folder) &&
    dev === true &&
    optional === true &&
    !isOurs
  );
}

test('every package has an integrity, except development binaries for other platforms', () => {
  const without = entries.filter(([, { link, integrity }]) => link !== true && integrity === undefined);
  expect(entries.length).toBeGreaterThan(500);
  expect(without.filter((entry) => !isForeignBinary(...entry)).map(([folder]) => folder)).toEqual([]);
  expect(without.length).toBeLessThanOrEqual(23);
});

test('every integrity uses SHA-512', () => {
  const integrities = entries.flatMap(([, { integrity }]) => integrity ?? []);
  expect(integrities.filter((integrity) => !/^sha512-[\w+/]{86}==$/.test(integrity))).toEqual([]);
});

test('no entry contains the URL that the package was fetched from', () => {
  expect(entries.filter(([, { resolved, link }]) => resolved !== undefined && link !== true)).toEqual([]);
});
