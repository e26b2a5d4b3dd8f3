import { expect, test } from 'vitest';
import { pages, readBlocks } from '../support/documentation.ts';
import { readRepositoryFile } from '../support/settings-file.ts';

const CHANGES_DATABASE = /src\/commands\/(migrate|rotate-keys|renew-epoch)\.ts/;

test('every documented command that changes the database is given the settings of the gateway', async () => {
  const blocks = pages.flatMap((page) => readBlocks(page)).filter(({ language }) => language === 'bash');
  const comments = await Promise.all(
    ['Dockerfile', 'ops/workspace-account-gateway@.service'].map(readRepositoryFile),
  );
  const lines = [...blocks.map(({ content }) => content), ...comments].join('\n').split('\n');
  const commands = lines.filter((line) => CHANGES_DATABASE.test(line));
  expect(commands.length).toBeGreaterThan(5);
  // A service of Compose has its `env_file`.
  expect(commands.filter((line) => !/--env-file[= ]|docker compose run/.test(line))).toEqual([]);
});

test('the settings of production make commands fail without DATABASE_URL', async () => {
  expect(await readRepositoryFile('.env.example')).toMatch(/^NODE_ENV=production$/m);
});
