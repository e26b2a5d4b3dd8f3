import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { workloads } from '../../bench/workloads.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));

test('the bench runs each measurement, of peers whose replies are equal and of another checkout', async () => {
  const args = ['bench/main.ts', '--quick', '--against', '.'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: repository });
  const titles = Object.values(workloads).map(({ title }) => title);
  for (const title of [...titles, 'Live events', 'A backlog of deliveries', 'Start and memory']) {
    const [, table = ''] = stdout.split(`\n${title} (`);
    const [, row = ''] = /^ {2}gateway before, [\d.]+ +(.*)$/m.exec(table) ?? [];
    expect(row, title).toMatch(/^\d/);
    expect(row, title).not.toContain('NaN');
  }
}, 600_000);

test.each([
  [['--only', 'nothing'], '--only nothing: must be one of notifications, '],
  [['--rounds', 'many'], '--rounds and --warm-up must be numbers.'],
  [['--record', '--quick'], '--record requires at least six rounds.'],
  [['--fast'], 'Usage: npm run bench -- '],
])('the bench refuses %j', async (args, message) => {
  const refused = promisify(execFile)(process.execPath, ['bench/main.ts', ...args], { cwd: repository });
  await expect(refused).rejects.toThrow(message);
});
