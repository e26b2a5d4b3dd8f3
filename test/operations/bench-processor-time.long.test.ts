import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { parseStat, readFamilyTime, readStat } from '../../bench/processor-time.ts';

test('reads the processor times of a process whose name contains spaces and parentheses', () => {
  const text = '12 (a) b (c) S 7 12 12 0 -1 4194304 100 0 0 0 150 25 30 5 20 0 11 0 600 1000 50';

  expect(parseStat(text)).toEqual({ parent: 7, own: 1750, ended: 350 });
});

test('adds up the processor time of a process, its children, and children that have exited', async () => {
  const busy = 'while (process.cpuUsage().user < 100_000) for (let n = 0; n < 1_000_000; n += 1);';
  const program = `
    const { spawn, spawnSync } = require('node:child_process');
    spawnSync(process.execPath, ['-e', ${JSON.stringify(busy)}]);
    const child = spawn(process.execPath, ['-e', ${JSON.stringify(`${busy} console.log('done'); setInterval(() => {}, 1000)`)}]);
    child.stdout.once('data', () => console.log('ready'));
    process.on('SIGTERM', () => { child.kill(); process.exit(); });`;
  const parent = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(parent, 'exit');
  onTestFinished(async () => {
    parent.kill();
    await exited;
  });
  await once(parent.stdout, 'data');

  const { own, ended } = await readStat(parent.pid ?? 0);
  expect(ended).toBeGreaterThan(50);
  expect((await readFamilyTime(parent.pid ?? 0)) - own - ended).toBeGreaterThan(50);
});
