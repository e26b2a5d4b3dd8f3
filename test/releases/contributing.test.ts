import { spawn } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { applyBlock, copyRepository, exampleBlocks } from '../support/contributing.ts';
import { createEmptyDatabase } from '../support/database.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
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
