import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { parse, print, separateOperations } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { grants, TASK_SCOPE } from '../../src/auth/scopes.ts';
import { migrate } from '../../src/database/migrate.ts';
import { createAs } from '../support/as.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { graphql } from '../support/client.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { currentCursor, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import {
  credentialVersion,
  deleteUser,
  type Kind,
  payloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { answer, answers, awaitRequest, makeExpired } from '../support/requests.ts';
import { platform, signToken } from '../support/tokens.ts';
import { checkWorkload, operations, runWorkload, type Workload } from '../support/workload.ts';
import { checkOut, hasCommit, readReleases, startReleaseProgram } from './release.ts';

const TIMEOUT_MS = 300_000;

const release = readReleases().at(-1);
const isInClone = release !== undefined && hasCommit(release.commit);
if (!isInClone) {
  process.stderr.write(
    `The tests of upgrades need the commit of release ${release?.version}, ${release?.commit}, which docs/releases.md records. This clone does not contain it. If it is shallow, run: git fetch --unshallow\n`,
  );
}

describe.skipIf(!isInClone)(`upgrade from release ${release?.version}`, { timeout: TIMEOUT_MS }, () => {
  const user = 'alice';
  /** The gateway that serves: first the release, then this version. */
  const serving: TestGateway[] = [];
  const workloads: Workload[] = [];
  const requests = { open: '', dismissed: '', answered: '', withdrawn: '', expiring: '' };
  let folder: string;
  let database: TestDatabase;
  let chat: ChatApi;
  let settings: Record<string, string>;
  let stored: { replies: unknown; cursor: string };

  const at = () => serving[0] ?? expect.unreachable('No gateway serves.');
  const readAll = async () => {
    const { rest } = at().as(user);
    const paths = ['/user/notifications', PREFERENCES, '/editor/auth', '/user/workspaces'];
    const replies = await Promise.all(paths.map((path) => rest.get(path)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    return replies.map(({ body, headers }) => ({ body, etag: headers.get('ETag') }));
  };
  const setPreference = async () =>
    expect(
      (
        await at()
          .as(user)
          .rest.put(PREFERENCES, { preferences: [preference] })
      ).status,
    ).toBe(200);
  const readTokens = () => at().as(platform).editorCredential({ userId: user });
  const readState = async (id: string) => (await awaitRequest(at(), user, id)).state;

  beforeAll(async () => {
    if (release === undefined) throw new Error('docs/releases.md records no release.');
    folder = await makeFolder();
    await checkOut(release, folder);
    database = await createEmptyDatabase();
    chat = await startChatApi();
    settings = { ...settingsFor(database), CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url };
    const migrated = await startReleaseProgram(folder, 'src/commands/migrate.ts', settings).ended;
    expect(migrated).toMatchObject({ status: 0, stderr: '' });
    // Its deliveries stay queued.
    serving[0] = await startReleased(folder, { ...settings, DELIVERY: 'false' }, database);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await serving.pop()?.close();
    await chat?.close();
    await database?.drop();
    await removeFolder(folder);
  });

  test('the release stores records of every kind', async () => {
    for (const seed of [1, 2, 3]) workloads.push(await runChanges(serving, `release-${seed}`, seed));
    await putContact(at(), user, { chatMemberId: 'U-alice' });
    for (const kind of Object.keys(payloads) as Kind[]) await publish(at(), user, kind);
    await putWorkspaces(at(), user, [workspaceInput()]);
    expect((await at().as(user).rest.put('/editor/auth/subscription', pair)).status).toBe(200);
    await setPreference();
    for (const name of Object.keys(requests) as (keyof typeof requests)[]) {
      const expiry = name === 'expiring' ? { expiresInSeconds: 600, onExpiry: answers.reject } : {};
      const task = { id: name, projectId: 'p' };
      requests[name] = (await publish(at(), user, 'plan_requested', { task, ...expiry })).id;
    }
    // The tests' own operation selects what the release does not have.
    await at().as(user).rest.post(`/user/notifications/${requests.dismissed}/dismiss`);
    await answer(at(), user, { id: requests.answered, answerId: 'a', ...answers.approve });
    await resolve(at(), user, 'withdrawn');
    stored = { replies: await readAll(), cursor: await currentCursor(at(), user) };
  });

  test('once the schema is migrated, the release is not ready, says which version to start, and does not start', async () => {
    expect(await migrate(database.url)).not.toEqual([]);

    const { status, checks } = await readReadiness(at());
    expect(status).toBe('not_ready');
    expect(checks.migrations).toContain('The database requires version ');
    await serving.pop()?.close();
    const ended = await startReleaseProgram(folder, 'src/main.ts', settings).ended;
    expect(ended).toMatchObject({ status: 1, stderr: expect.stringContaining(checks.migrations ?? '') });
  });

  test('the migrated schema is that of a new database', async () => {
    const created = await createEmptyDatabase();
    await migrate(created.url);
    expect(await readSchema(database)).toEqual(await readSchema(created));
    await created.drop();
  });

  test('this version has what the release stored, and sends its deliveries', async () => {
    serving[0] = await startTestGateway(settings, database);
    expect(await readReadiness(at())).toMatchObject({ status: 'ready' });

    expect(await readAll()).toEqual(stored.replies);
    expect(await readTokens()).toMatchObject(pair);
    for (const workload of workloads) await checkWorkload(workload);
    await eventually(() => expect(chat.messages.map(({ memberId }) => memberId)).toContain('U-alice'));
  });

  test('requests of the release are answered once, and expire; live events continue after its cursor', async () => {
    const inbox = await subscribeToNotifications(at(), user, stored.cursor);
    const { approve } = answers;
    for (const id of [requests.open, requests.dismissed]) {
      expect(await readState(id)).toBe('OPEN');
      expect(await answer(at(), user, { id, ...approve })).toMatchObject({ __typename: 'AnswerStored' });
    }
    expect(await answer(at(), user, { id: requests.answered, ...approve })).toMatchObject({
      state: 'ANSWERED',
      answer: { answerId: 'a' },
    });
    expect(await readState(requests.withdrawn)).toBe('WITHDRAWN');
    await makeExpired(database, user, requests.expiring);
    await eventually(async () => expect(await readState(requests.expiring)).toBe('ANSWERED'));

    const changed = [requests.open, requests.dismissed, requests.expiring];
    for (const id of changed) expect((await nextEvent(inbox)).notification.id).toBe(id);
    inbox.close();
  });

  test('records of the release are changed and deleted', async () => {
    const version = await credentialVersion(at(), user);
    await at()
      .as(platform)
      .refreshCredential({ userId: user, version, ...refreshed });
    expect(await readTokens()).toMatchObject(refreshed);
    await setPreference();
    await checkWorkload(await runChanges(serving, 'current', 4));
    expect((await at().as(user).rest.delete('/editor/auth')).status).toBe(204);
    expect(await deleteUser(at(), user)).toBe(true);
  });

  test("the release's examples run at this version", async () => {
    // A token with the scope of tasks can have no other.
    const all = [...grants.keys()].filter((scope) => scope !== TASK_SCOPE);
    const token = await signToken({ sub: 'alice', org_id: 'acme', scope: all.join(' ') });
    for (const { path, document, variables } of await readReleaseExamples(folder)) {
      const { status, errors } = await graphql(at(), document, variables, { token });
      const codes = errors.map(({ extensions }) => extensions.code).filter((code) => !isExpected(code));
      expect({ path, status, codes }).toEqual({ path, status: 200, codes: [] });
    }
  });

  test('this version logged no error', () => {
    const lines = at().logLines();
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => /"level":[56]0/.test(line))).toEqual([]);
  });
});

/** Reads the columns, constraints and indexes of all tables. The order of columns does not matter. */
async function readSchema({ sql }: TestDatabase): Promise<unknown> {
  return sql(`
    select relname || '.' || attname as name, concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attcollation,
           pg_get_expr(adbin, adrelid)) as definition
      from pg_attribute join pg_class on pg_class.oid = attrelid
      left join pg_attrdef on adrelid = attrelid and adnum = attnum
     where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped
    union all
    select conname, pg_get_constraintdef(oid) || convalidated from pg_constraint
     where connamespace = 'public'::regnamespace
    union all
    select indexname, indexdef from pg_indexes where schemaname = 'public'
    order by 1, 2`);
}

/** Starts a gateway of the release, in a process of its own. */
async function startReleased(
  folder: string,
  settings: Record<string, string>,
  database: TestDatabase,
): Promise<TestGateway> {
  const gateway = startReleaseProgram(folder, 'src/main.ts', { ...settings, PORT: '0' });
  const address = await gateway.waitForOutput(/Listening on (http:\/\/[^\s"]+)/);
  return {
    address,
    as: createAs({ address }),
    adminAddress: '',
    startLines: [],
    database,
    logLines: () => gateway.stdout().split('\n'),
    close: async () => expect(await gateway.stop()).toMatchObject({ status: 0, stderr: '' }),
  };
}

async function readReadiness({ address }: TestGateway) {
  return Readiness.parse(await (await fetch(`${address}/readyz`)).json());
}

const Readiness = z.object({ status: z.string(), checks: z.record(z.string(), z.string()) });

/** Runs 60 changes of three users at once. */
const runChanges = (gateways: readonly TestGateway[], name: string, seed: number) =>
  runWorkload(gateways, name, fc.sample(operations, { numRuns: 60, seed }));

const PREFERENCES = '/user/notification-preferences';
const preference = { email_enabled: true, push_enabled: false, chat_dm_enabled: true };
const pair = { accessToken: 'access', refreshToken: 'refresh' };
const refreshed = { accessToken: 'next-access', refreshToken: 'next-refresh' };

/** Whether an example may fail with a code, because the records that it names do not exist or have changed. */
const isExpected = (code: unknown) => code === 'NOT_FOUND' || code === 'CONFLICT';

/** Reads the queries and mutations of a release's examples, each as a document of its own. */
async function readReleaseExamples(folder: string) {
  const examples = join(folder, 'examples');
  const paths = (await readdir(examples, { recursive: true })).filter((path) => path.endsWith('.graphql'));
  const documents = paths.toSorted().map(async (path) => {
    const file = join(examples, path);
    const operations = separateOperations(parse(await readFile(file, 'utf8')));
    const variables = await readFile(file.replace('.graphql', '.json'), 'utf8').then(JSON.parse, () => ({}));
    return Object.values(operations).map((operation) => ({ path, document: print(operation), variables }));
  });
  return (await Promise.all(documents)).flat().filter(({ document }) => !/^subscription/m.test(document));
}
