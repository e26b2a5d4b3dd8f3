import { spawnSync } from 'node:child_process';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readRepositoryFile } from '../support/documentation.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';

const NAME = 'workspace-account-gateway@.service';
const INSTALLED = '/opt/workspace-account-gateway';

/** The unit of instance 1. */
const unit = (await readRepositoryFile(`ops/${NAME}`)).replaceAll('%i', '1');
const repository = fileURLToPath(new URL('../..', import.meta.url));
const hasSystemd = spawnSync('systemd-analyze', ['--version']).status === 0;

describe.skipIf(!hasSystemd)('systemd-analyze (needs systemd)', () => {
  let folder: string;
  let path: string;
  beforeAll(async () => {
    folder = await makeFolder();
    const installed = join(folder, 'installed');
    await symlink(repository, installed);
    path = join(folder, NAME.replace('@', '@1'));
    await writeFile(path, unit.replaceAll(INSTALLED, installed));
  });
  afterAll(() => removeFolder(folder));

  const analyze = (...options: string[]) =>
    spawnSync('systemd-analyze', [...options, path], { encoding: 'utf8' });

  test('verifies the unit and finds its program', () => {
    expect(analyze('verify')).toMatchObject({ status: 0, stdout: '', stderr: '' });
  });

  test('rates the exposure of the service at most 1.5 of 10', () => {
    const { status, stdout } = analyze('security', '--offline=true', '--threshold=15');
    expect(status, stdout).toBe(0);
  });
});
