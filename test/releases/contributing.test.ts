import { spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createEmptyDatabase } from '../support/database.ts';
import { readPage } from '../support/documentation.ts';
import { copyRepository, makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';

/** The last command of the example is `npm test`. */
const TIMEOUT_MS = 1_800_000;

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
  await copyRepository(folder);
});
afterEach(() => removeFolder(folder));

/** Runs a command as a contributor would, without the variables of the running test. */
function run(command: string, environment: Record<string, string> = {}) {
  const { PATH, HOME } = process.env;
  const child = spawn('sh', ['-c', command], {
    cwd: folder,
    env: { PATH, HOME, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return captureOutput(child, command).ended;
}

test('the worked example passes every check and test when followed to the end', {
  timeout: TIMEOUT_MS,
}, async () => {
  const commands: string[] = [];
  for (const block of exampleBlocks()) {
    if (block.kind !== 'bash') {
      await applyBlock(folder, block);
      continue;
    }
    for (const command of block.content.trim().split('\n')) {
      commands.push(command);
      const { status, stdout, stderr } = await run(command);
      expect(status, `${command}\n${stdout}${stderr}`).toBe(0);
    }
  }
  expect(commands.slice(-2)).toEqual(['npm run check', 'npm test']);
});

test("npm run migration generates the worked example's migration once, and applying it creates the table", {
  timeout: TIMEOUT_MS,
}, async () => {
  const database = await createEmptyDatabase();
  const migrate = () => run('npm run -s migrate', { DATABASE_URL: database.url });
  const generate = () => run('npm run -s migration -- add_favorite_projects', { DATABASE_URL: database.url });
  expect((await migrate()).status).toBe(0);
  for (const block of exampleBlocks()) {
    if (/^(src|rest)\//.test(block.path)) await applyBlock(folder, block);
  }

  expect(await generate()).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(
      /^Using the database "\w+" at [\d.:]+\.\nWrote src\/database\/migrations\/Migration\d{14}_add_favorite_projects\.ts\./,
    ),
  });
  expect(await generate()).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(
      /The database lacks Migration\d+_add_favorite_projects\. Stop all gateways and workers, and run with the same settings: npm run migrate/,
    ),
  });

  expect((await migrate()).stdout).toMatch(/\.\nApplied Migration\d{14}_add_favorite_projects\n$/);
  expect(await database.sql('select * from favorite_project')).toEqual([]);
  expect(await generate()).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(
      'The database already matches the entities; there is nothing to migrate.',
    ),
  });
  await database.drop();
});

test('npm run migration rejects an invalid name with the usage', async () => {
  expect(await run('npm run -s migration -- Favorites')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/Usage: npm run -s migration -- NAME/),
  });
});

/** The text of docs/adding-an-operation.md. */
const example = readPage('docs/adding-an-operation.md').text;

/** A block of the worked example: a complete file, a diff of a file, or commands. */
type Block = { kind: string; path: string; content: string };

/** The blocks of the worked example, in order. A diff is a block for each of its `@@ path` lines. */
function exampleBlocks(): Block[] {
  const found = example.matchAll(/^(`{3,})(ts|diff|bash)(?: (\S+))?\n(.*?)^\1$/gms);
  return [...found].flatMap(([, _fence, kind = '', path = '', content = '']) =>
    kind === 'diff' ? readHunks(content) : { kind, path, content },
  );
}

const readHunks = (diff: string): Block[] =>
  diff.split(/^(?=@@ )/m).map((hunk) => {
    const [first = '', ...lines] = hunk.split('\n');
    return { kind: 'diff', path: first.slice('@@ '.length), content: lines.join('\n') };
  });

/** Applies a block to a copy of the repository. */
async function applyBlock(folder: string, { kind, path, content }: Block): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, kind === 'ts' ? content : patch(await readFile(file, 'utf8'), content, path));
}

/** Replaces the old lines, which must occur exactly once. */
function patch(text: string, diff: string, path: string): string {
  const lines = diff.split('\n').filter((line) => line !== '');
  const side = (sign: string) =>
    lines.filter((line) => line.startsWith(' ') || line.startsWith(sign)).map((line) => `${line.slice(1)}\n`);
  const parts = text.split(side('-').join(''));
  expect(parts, `${path} contains these lines once:\n${side('-').join('')}`).toHaveLength(2);
  return parts.join(side('+').join(''));
}
