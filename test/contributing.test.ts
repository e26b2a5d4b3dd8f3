import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyBlock, copyRepository, exampleBlocks, guide } from './support/contributing.ts';
import { createEmptyDatabase, type TestDatabase } from './support/database.ts';
import { makeFolder, removeFolder } from './support/folder.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
/** The files of the worked example. */
const blocks = exampleBlocks().filter(({ kind }) => kind !== 'bash');

/** Several programs run one after another, possibly on a busy machine. */
const TIMEOUT_MS = 120_000;

let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = await makeFolder();
  database = await createEmptyDatabase();
  await copyRepository(folder);
  await run('src/commands/migrate.ts');
});
afterAll(async () => {
  await database.drop();
  await removeFolder(folder);
});

const run = (program: string, ...options: string[]) =>
  promisify(execFile)(process.execPath, [program, ...options], {
    cwd: folder,
    env: { DATABASE_URL: database.url, NODE_COMPILE_CACHE: join(folder, 'cache') },
  });

test('the worked example of CONTRIBUTING.md compiles, and its operations are in the schema', {
  timeout: TIMEOUT_MS,
}, async () => {
  expect(blocks.length).toBeGreaterThan(10);
  for (const block of blocks) await applyBlock(folder, block);

  const include = blocks.map(({ path }) => path).filter((path) => /^(src|rest)\//.test(path));
  await writeFile(join(folder, 'example.json'), JSON.stringify({ extends: './tsconfig.json', include }));
  await run('src/commands/print-schema.ts');
  // Without --singleThreaded, several checkers repeat part of the work.
  await run('node_modules/typescript/bin/tsc', '--singleThreaded', '-p', 'example.json');
  const schema = await readFile(join(folder, 'schema.graphql'), 'utf8');
  expect(schema).toMatch(/addFavoriteProject\(/);
  expect(schema).toMatch(/favoriteProjects: \[FavoriteProject!\]/);
});

test("npm run migration generates the worked example's migration once, and applying it creates the table", {
  timeout: TIMEOUT_MS,
}, async () => {
  const writing = () => run('src/commands/migration.ts', 'add_favorite_projects');
  const { stdout } = await writing();
  const [, written] =
    /^Wrote (src\/database\/migrations\/Migration\d{14}_add_favorite_projects\.ts)\./.exec(stdout) ?? [];
  expect(written).toBeDefined();
  await expect(writing()).rejects.toThrow(
    /The database lacks Migration\d+_add_favorite_projects\. Run: npm run migrate/,
  );

  expect((await run('src/commands/migrate.ts')).stdout).toMatch(
    /^Applied Migration\d{14}_add_favorite_projects\n$/,
  );
  expect(await database.sql('select * from favorite_project')).toEqual([]);
  await expect(writing()).rejects.toThrow(
    'The database already matches the entities; there is nothing to migrate.',
  );
});

test('rejects an invalid migration name with the usage', async () => {
  await expect(run('src/commands/migration.ts', 'Favorites')).rejects.toThrow(
    /Usage: npm run -s migration -- NAME/,
  );
});

test('every script and source file named in CONTRIBUTING.md exists', async () => {
  const { scripts } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  for (const [, name = ''] of guide.matchAll(/npm run (?:-s )?([\w:]+)/g))
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
