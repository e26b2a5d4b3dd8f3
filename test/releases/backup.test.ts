import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../src/database/migrate.ts';
import { existingDatabase } from '../support/database.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { currentCursor, dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import { publish } from '../support/records.ts';
import { platform } from '../support/tokens.ts';
import { type DebianServer, postgresPrograms, startPostgres } from './debian-programs.ts';

const repository = fileURLToPath(new URL('../..', import.meta.url));
const page = await readFile(join(repository, 'docs/backup.md'), 'utf8');

/** Returns the commands in a section of the page. */
function readCommands(section: string): string[] {
  const [, block = ''] = new RegExp(`^## ${section}\\n.*?\`\`\`bash\\n(.*?)\`\`\``, 'ms').exec(page) ?? [];
  return block.trim().split('\n');
}

const pair = { accessToken: 'access-1', refreshToken: 'refresh-1' };
const keys = `k1:${randomBytes(32).toString('base64')}`;

let folder: string;
let server: DebianServer;
let url: string;
/** A client's state from changes that the dump does not contain. */
let lost: { tag: string; cursor: string };
let kept: string;

beforeAll(async () => {
  folder = await makeFolder();
  server = await startPostgres(folder);
  url = new URL('/gateway', server.url).href;
  await sql('create database gateway');
  await migrate(url);

  const gateway = await start();
  kept = (await publish(gateway, 'alice')).id;
  await gateway.as('alice').connectEditor(pair);
  for (const command of readCommands('Back up')) await run(command);
  await publish(gateway, 'alice');
  const tag = (await list(gateway)).headers.get('etag') ?? '';
  expect((await list(gateway, tag)).status).toBe(304);
  lost = { tag, cursor: await currentCursor(gateway, 'alice') };
  await gateway.close();
});
afterAll(async () => {
  await server?.stop();
  await removeFolder(folder);
});

async function sql(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await client.query(text);
  await client.end();
}

/** Runs a documented command as an operator would. */
async function run(command: string): Promise<void> {
  const script = command.replaceAll('gateway.dump', join(folder, 'gateway.dump'));
  const PATH = `${postgresPrograms}${delimiter}${process.env.PATH}`;
  const env = { PATH, HOME: process.env.HOME, DATABASE_URL: url };
  await promisify(execFile)('sh', ['-c', script], { cwd: repository, env });
}

const start = () => startTestGateway({ ENCRYPTION_KEYS: keys }, existingDatabase(url));

const list = (gateway: TestGateway, tag = '') =>
  gateway.as('alice').rest.get('/user/notifications', { headers: { 'If-None-Match': tag } });

test.skipIf(postgresPrograms === undefined)(
  'restoring as documented serves the dumped records, and invalidates ETags and cursors of lost changes',
  async () => {
    await sql('drop database gateway with (force)');
    await sql('create database gateway');
    for (const command of readCommands('Restore')) await run(command);
    const gateway = await start();
    // In place of the lost one.
    const later = (await publish(gateway, 'alice')).id;

    const { status, body } = await list(gateway, lost.tag);
    expect(status).toBe(200);
    expect(body.notifications.map(({ id }: { id: string }) => id).sort()).toEqual([kept, later].sort());
    expect(await gateway.as(platform).editorCredential({ userId: 'alice' })).toMatchObject(pair);

    expect(await dismiss(gateway, 'alice', { filter: { upTo: lost.cursor } })).toEqual([]);
    const stream = await subscribeToNotifications(gateway, 'alice', lost.cursor);
    const events = [await nextEvent(stream), await nextEvent(stream)];
    expect(events.map(({ notification }) => notification.id).sort()).toEqual([kept, later].sort());
    stream.close();
    await gateway.close();
  },
);
