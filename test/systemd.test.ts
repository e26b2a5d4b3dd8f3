import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readConfig, settingNames } from '../src/config.ts';
import { makeFolder, removeFolder } from './support/folder.ts';
import { filledExample, textOfFile } from './support/settings-file.ts';

const NAME = 'workspace-account-gateway.service';
const INSTALLED = '/opt/workspace-account-gateway';

const unit = await textOfFile(`ops/${NAME}`);
const repository = fileURLToPath(new URL('..', import.meta.url));
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

/** The values of a directive, in order. */
const valuesOf = (directive: string) =>
  [...unit.matchAll(new RegExp(`^${directive}=(.*)$`, 'gm'))].map(([, value = '']) => value);

test('the unit gives settings that the gateway reads, and with those of its file it starts', async () => {
  const own = Object.fromEntries(valuesOf('Environment').map((pair) => pair.split('=', 2)));
  expect(Object.keys(own).filter((name) => !settingNames.includes(name))).toEqual([]);
  const database = { DATABASE_URL: 'postgres://db.example.com/gateway' };
  expect(readConfig({ ...(await filledExample()), ...database, ...own })).toMatchObject({ production: true });
});

test('running requests may end: the process is killed after the 10 seconds that they have', () => {
  expect(Number(valuesOf('TimeoutStopSec')[0])).toBeGreaterThan(10);
});

test('the unit and the image run Node.js as npm start does', async () => {
  const [, start = ''] = /"start": "[^"]*\bnode ([^"]+)"/.exec(await textOfFile('package.json')) ?? [];
  const [, image = '[]'] = /^CMD (.+)$/m.exec(await textOfFile('Dockerfile')) ?? [];

  expect(start).toMatch(/src\/main\.ts$/);
  expect(valuesOf('ExecStart')).toEqual([`${INSTALLED}/node_modules/.bin/node ${start}`]);
  expect(JSON.parse(image)).toEqual(['node', ...start.split(' ')]);
});

describe.skipIf(!hasSystemd)('systemd-analyze (needs systemd)', () => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await makeFolder();
    const installed = join(folder, 'installed');
    await symlink(repository, installed);
    path = join(folder, NAME);
    await writeFile(path, unit.replaceAll(INSTALLED, installed));
  });
  afterAll(() => removeFolder(folder));

  const analyze = (...options: string[]) =>
    spawnSync('systemd-analyze', [...options, path], { encoding: 'utf8' });

  test('takes the unit, and finds the program where the unit has it', () => {
    expect(analyze('verify')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('finds the process to be exposed to little: at most 1.5 of 10', () => {
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=15');
    expect(status, stdout).toBe(0);
  });
});
