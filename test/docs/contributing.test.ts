import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readPage } from '../support/documentation.ts';

const { text: guide } = readPage('CONTRIBUTING.md');

const repository = fileURLToPath(new URL('../..', import.meta.url));

test('every script and source file named in CONTRIBUTING.md exists', async () => {
  const { scripts } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  for (const [, name = ''] of guide.matchAll(/npm run (?:-s )?([\w:-]+)/g))
    expect(scripts).toHaveProperty(name);
  const [, map = ''] = /^## Request lifecycle$.*?^```\n(.*?)^```$/ms.exec(guide) ?? [];
  for (const [path] of map.matchAll(/\b(?:src|rest)\/[\w./-]+\.ts/g)) {
    await expect(readFile(join(repository, path)), path).resolves.toBeDefined();
  }
});

test('the map in CONTRIBUTING.md contains every folder of src/, with features as <feature>', async () => {
  const entries = await readdir(join(repository, 'src'), { withFileTypes: true });
  for (const { name } of entries.filter((entry) => entry.isDirectory())) {
    const files = await readdir(join(repository, 'src', name));
    const isFeature = files.some((file) => file.endsWith('.graphql.ts'));
    if (isFeature) expect(files, name).toContain(`${name}.graphql.ts`);
    else expect(guide, name).toContain(`src/${name}/`);
  }
});
