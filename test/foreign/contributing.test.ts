import { spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { applyBlock, copyRepository, exampleBlocks } from '../support/contributing.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { captureOutput } from '../support/process.ts';

/** The last command of the example is `npm test`. */
const TIMEOUT_MS = 1_800_000;

let folder: string;
beforeAll(async () => {
  folder = await makeFolder();
  await copyRepository(folder);
});
afterAll(() => removeFolder(folder));

/** Runs a command as a contributor would, without the variables of the running test. */
async function run(command: string): Promise<void> {
  const { PATH, HOME } = process.env;
  const child = spawn('sh', ['-c', command], {
    cwd: folder,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const { status, stdout, stderr } = await captureOutput(child, command).ended;
  expect(status, `${command}\n${stdout}${stderr}`).toBe(0);
}

test('the worked example of CONTRIBUTING.md passes every check and test when followed to the end', {
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
      await run(command);
    }
  }
  expect(commands.slice(-2)).toEqual(['npm run check', 'npm test']);
});
