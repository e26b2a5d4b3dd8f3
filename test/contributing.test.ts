import { execFile } from 'node:child_process';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { compileCache } from './support/process.ts';

const repository = fileURLToPath(new URL('..', import.meta.url));
const guide = await readFile(join(repository, 'CONTRIBUTING.md'), 'utf8');

/** The blocks of the worked example: whole files, and lines that join in. */
const blocks = [...guide.matchAll(/^```(ts|diff) (\S+)\n(.*?)^```$/gms)].map(
  ([, kind = '', path = '', content = '']) => ({ kind, path, content }),
);

/** Several programs, one after another, on a busy machine. */
const PATIENCE_MS = 120_000;

let folder: string;
let database: TestDatabase;
beforeAll(async () => {
  folder = await makeFolder();
  database = await createTestDatabase();
  const isOurs = (path: string) => !/\/(node_modules|\.git|\.data)$/.test(path);
  await cp(repository, folder, { recursive: true, filter: isOurs });
  await symlink(join(repository, 'node_modules'), join(folder, 'node_modules'));
});
afterAll(async () => {
  await database.drop();
  await removeFolder(folder);
});

/** Puts the new lines in the place of the old ones, which must be there exactly once. */
function patched(text: string, diff: string, path: string): string {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (sign: string) =>
    lines.filter((line) => line.startsWith(' ') || line.startsWith(sign)).map((line) => `${line.slice(1)}\n`);
  const parts = text.split(side('-').join(''));
  expect(parts, `${path} has these lines once:\n${side('-').join('')}`).toHaveLength(2);
  return parts.join(side('+').join(''));
}

const run = (program: string, ...options: string[]) =>
  promisify(execFile)(process.execPath, [program, ...options], {
    cwd: folder,
    env: { DATABASE_URL: database.url, NODE_COMPILE_CACHE: compileCache },
  });

test('the worked example of CONTRIBUTING.md fits the code: it has the right types, and the schema has its operations', {
  timeout: PATIENCE_MS,
}, async () => {
  expect(blocks.length).toBeGreaterThan(10);
  for (const { kind, path, content } of blocks) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, kind === 'ts' ? content : patched(await readFile(file, 'utf8'), content, path));
  }

  const include = blocks.map(({ path }) => path).filter((path) => /^(src|rest)\//.test(path));
  await writeFile(join(folder, 'example.json'), JSON.stringify({ extends: './tsconfig.json', include }));
  await run('src/commands/print-schema.ts');
  await run('node_modules/typescript/bin/tsc', '-p', 'example.json');
  const schema = await readFile(join(folder, 'schema.graphql'), 'utf8');
  expect(schema).toMatch(/addFavoriteProject\(/);
  expect(schema).toMatch(/favoriteProjects: \[FavoriteProject!\]/);
});

test('its migration is written from the entities, once, and makes the table', {
  timeout: PATIENCE_MS,
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
  await expect(writing()).rejects.toThrow('The database is what the entities describe already.');
});

test('a migration without a proper name is refused with its usage', async () => {
  await expect(run('src/commands/migration.ts', 'Favorites')).rejects.toThrow(
    /Usage: npm run -s migration -- NAME/,
  );
});

test('every script and file that CONTRIBUTING.md names is there', async () => {
  const { scripts } = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  for (const [, name = ''] of guide.matchAll(/npm run (?:-s )?([\w:]+)/g))
    expect(scripts).toHaveProperty(name);
  const [, map = ''] = /^## Request lifecycle$.*?^```\n(.*?)^```$/ms.exec(guide) ?? [];
  for (const [path] of map.matchAll(/\b(?:src|rest)\/[\w./-]+\.ts/g)) {
    await expect(readFile(join(repository, path)), path).resolves.toBeDefined();
  }
});
