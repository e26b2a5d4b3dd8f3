import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { Kind, OperationTypeNode, parse, print } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { grants, TASK_SCOPE } from '../../src/auth/scopes.ts';
import { migrate } from '../../src/database/migrate.ts';
import { type ChatApi, startChatApi } from '../support/chat-api.ts';
import { graphql, rest } from '../support/client.ts';
import { createEmptyDatabase, type TestDatabase } from '../support/database.ts';
import { listStored, putContact } from '../support/delivery.ts';
import { eventually } from '../support/eventually.ts';
import { makeFolder, removeFolder } from '../support/folder.ts';
import { settingsFor, startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss, nextEvent, subscribeToNotifications } from '../support/inbox.ts';
import {
  asMember,
  asPlatform,
  credentialVersion,
  deleteUser,
  type Kind as NotificationKind,
  payloads,
  publish,
  putWorkspaces,
  resolve,
  workspaceInput,
} from '../support/records.ts';
import { readReleases } from '../support/releases.ts';
import { answer, answers, awaitRequest } from '../support/requests.ts';
import { openStream } from '../support/sse.ts';
import { member, signToken } from '../support/tokens.ts';
import { Workload } from '../support/workload.ts';
import { checkUser } from '../support/workload-checks.ts';
import { type Operation, operations } from '../support/workload-operations.ts';
import { runOperation } from '../support/workload-runner.ts';
import { checkOut, hasCommit, startReleaseProgram } from './release.ts';

const TIMEOUT_MS = 300_000;

const release = readReleases().at(-1);
const isInClone = release !== undefined && hasCommit(release.commit);
if (!isInClone) {
  process.stderr.write(
    `The tests of upgrades need the commit of release ${release?.version}, ${release?.commit}, which docs/releases.md records. This clone does not contain it. If it is shallow, run: git fetch --unshallow\n`,
  );
}

describe.skipIf(!isInClone)(`upgrade from release ${release?.version}`, { timeout: TIMEOUT_MS }, () => {
  let folder: string;
  let database: TestDatabase;
  let chat: ChatApi;
  let settings: Record<string, string>;
  let released: TestGateway;
  let current: TestGateway;

  beforeAll(async () => {
    if (release === undefined) throw new Error('docs/releases.md records no release.');
    folder = await makeFolder();
    await checkOut(release, folder);
    database = await createEmptyDatabase();
    chat = await startChatApi();
    settings = { ...settingsFor(database), CHAT_TOKEN: chat.token, CHAT_API_URL: chat.url };
    const migrated = await startReleaseProgram(folder, 'src/commands/migrate.ts', settings).ended;
    expect(migrated).toMatchObject({ status: 0, stderr: '' });
    released = await startReleased(folder, settings, database);
  }, TIMEOUT_MS);
  afterAll(async () => {
    await current?.close();
    await released?.close();
    await chat?.close();
    await database?.drop();
    await removeFolder(folder);
  });

  test('the release serves while the new migrations are applied, and stays ready', async () => {
    let isMigrating = true;
    const migrating = migrate(database.url).finally(() => {
      isMigrating = false;
    });
    let runs = 0;
    do {
      await runWorkload([released], `migrating-${runs}`, runs);
      runs += 1;
    } while (isMigrating);
    await migrating;
    expect(await readReadiness(released)).toMatchObject({ status: 'ready' });

    current = await startTestGateway(settings, database);
    expect(await readReadiness(current)).toMatchObject({ status: 'ready' });
  });

  test('concurrent changes at both have the same results as at one', async () => {
    for (const seed of [1, 2, 3, 4, 5, 6]) {
      const gateways = seed % 2 === 0 ? [released, current] : [current, released];
      await runWorkload(gateways, `both-${seed}`, seed);
    }
  });

  describe.each([
    { name: 'the release', user: 'release', writer: () => released, reader: () => current },
    { name: 'this version', user: 'current', writer: () => current, reader: () => released },
  ])('what $name writes, the other', ({ user, writer, reader }) => {
    const readAll = async (gateway: TestGateway) => {
      const token = await member(user);
      const paths = [
        '/user/notifications',
        '/user/notification-preferences',
        '/editor/auth',
        '/user/workspaces',
      ];
      const replies = await Promise.all(paths.map((path) => rest(gateway, 'GET', path, { token })));
      return replies.map(({ status, body }) => ({ status, body }));
    };
    const expectSame = async () => {
      const read = await readAll(reader());
      expect(read).toEqual(await readAll(writer()));
      expect(read.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      return read.map(({ body }) => body);
    };

    test('reads, changes, sends as live events and as messages', async () => {
      const token = await member(user);
      const inbox = await subscribeToNotifications(reader(), user);
      const workspaces = await openStream(
        reader(),
        'subscription { workspaceEvents { workspaceId } }',
        {},
        { token },
      );
      const editorAuth = await openStream(
        reader(),
        'subscription { editorAuthEvents { editorAuth { needsReauth } } }',
        {},
        { token },
      );
      await editorAuth.take();
      await putContact(writer(), user, { chatMemberId: `U-${user}` });

      const ids: string[] = [];
      for (const kind of Object.keys(payloads) as NotificationKind[]) {
        const { id } = await publish(writer(), user, kind);
        ids.push(id);
        expect((await nextEvent(inbox)).notification).toEqual({ id, status: 'ACTIVE' });
      }
      const workspace = workspaceInput();
      await putWorkspaces(writer(), user, [workspace]);
      expect((await workspaces.take()).data.workspaceEvents.workspaceId).toBe(workspace.id);
      await storeCredential(writer(), token);
      expect((await editorAuth.take()).data.editorAuthEvents.editorAuth.needsReauth).toBe(false);
      await setPreference(writer(), token);

      const [listed, , , { workspaces: list } = {}] = await expectSame();
      expect(listed.notifications.map(({ id }: { id: string }) => id).toSorted()).toEqual(ids.toSorted());
      expect(list.map(({ id }: { id: string }) => id)).toEqual([workspace.id]);
      expect(await readTokens(reader(), user)).toEqual(pair);
      await eventually(async () =>
        expect(await listStored(database, user)).toEqual(ids.map(() => 'chat delivered')),
      );
      expect(chat.messages.filter(({ memberId }) => memberId === `U-${user}`)).toHaveLength(ids.length);

      expect(await dismiss(reader(), user, ids.slice(0, 2))).toEqual(ids.slice(0, 2));
      await refreshCredential(reader(), user);
      await setPreference(reader(), token);
      const later = new Date(Date.now() + 1000).toISOString();
      const stopped = { ...workspace, status: 'STOPPED', updatedAt: later };
      expect(await putWorkspaces(reader(), user, [stopped])).toEqual([workspace.id]);
      await expectSame();
      expect(await readTokens(writer(), user)).toEqual(refreshed);

      expect((await rest(reader(), 'DELETE', '/editor/auth', { token })).status).toBe(204);
      expect(await deleteUser(reader(), user)).toBe(true);
      await expectSame();
      for (const stream of [inbox, workspaces, editorAuth]) stream.close();
    });
  });

  describe.each([
    { name: 'the release', publisher: () => released },
    { name: 'this version', publisher: () => current },
  ])('a request that $name publishes', ({ name, publisher }) => {
    const user = `asked by ${name}`;
    const { approve } = answers;
    const ask = async (taskId: string, at = publisher()) =>
      (await publish(at, user, 'plan_requested', { task: { id: taskId, projectId: 'p' } })).id;
    const readState = async (id: string) => (await awaitRequest(current, user, id)).state;
    /**
     * Waits until the sweep has stored the state. It stores none for what the release published and resolved before the
     * sweep found it.
     */
    const expectStored = (id: string, expected: object) =>
      eventually(async () =>
        expect(
          await database.sql(
            `select status, coalesce(request_state, 'withdrawn') as state, answer ->> 'answerId' as answer from notification
              where user_id = $1 and id = $2`,
            [user, id],
          ),
        ).toEqual([{ answer: null, ...expected }]),
      );

    test.each<[NotificationKind, object]>([
      ['plan_requested', answers.approve],
      ['question_requested', answers.first],
      ['task_response_ready', answers.reply],
    ])('is answered, at once and once: %s', async (kind, content) => {
      const { id } = await publish(publisher(), user, kind);
      expect(await readState(id)).toBe('OPEN');

      expect(await answer(current, user, { id, answerId: 'first', ...content })).toMatchObject({
        __typename: 'AnswerStored',
      });

      expect(await answer(current, user, { id, answerId: 'second', ...content })).toMatchObject({
        __typename: 'AlreadySettled',
        answer: { answerId: 'first' },
      });
      const query = 'query ($id: ID!) { notification(id: $id) { ... on UserNotification { status } } }';
      for (const gateway of [released, current])
        expect(await asMember(gateway, user, query, { id })).toEqual({
          notification: { status: 'RESOLVED' },
        });
      await expectStored(id, { status: 'resolved', state: 'answered', answer: 'first' });
    });

    test('is listed as open, also after the release dismissed it, and can then be answered', async () => {
      const id = await ask('dismissed');
      const query = `{ notifications(filter: { requestStates: [OPEN] }) { nodes { ... on UserNotification { id } } } }`;
      await eventually(async () =>
        expect((await asMember(current, user, query)).notifications.nodes).toContainEqual({ id }),
      );

      await dismiss(released, user, [id]);

      expect((await asMember(current, user, query)).notifications.nodes).toContainEqual({ id });
      expect(await answer(current, user, { id, answerId: 'a', ...approve })).toMatchObject({
        __typename: 'AnswerStored',
        notification: { status: 'DISMISSED' },
      });

      await expectStored(id, { status: 'dismissed', state: 'answered', answer: 'a' });
    });

    test.each<[string, string, (id: string, taskId: string) => Promise<unknown>]>([
      ['superseded', 'resolved', (_id, taskId) => ask(taskId, released)],
      ['resolved', 'resolved', (_id, taskId) => resolve(released, user, taskId, 'RESUMED')],
      [
        'resolved and dismissed',
        'dismissed',
        async (id, taskId) => {
          await resolve(released, user, taskId, 'RESUMED');
          await dismiss(released, user, [id]);
        },
      ],
    ])('and the release %s is withdrawn, and who waits learns it', async (how, status, settle) => {
      const id = await ask(how);
      const waiting = awaitRequest(current, user, id, 55);
      await settle(id, how);

      expect((await waiting).state).toBe('WITHDRAWN');
      expect(await answer(current, user, { id, ...approve })).toMatchObject({
        __typename: 'AlreadySettled',
        state: 'WITHDRAWN',
        answer: null,
      });
      await expectStored(id, { status, state: 'withdrawn' });
    });

    test('and that was answered keeps its answer, whatever the release does', async () => {
      const id = await ask('kept');
      await answer(current, user, { id, answerId: 'a', ...approve });

      await resolve(released, user, 'kept', 'RESUMED');
      await ask('kept', released);
      await dismiss(released, user, [id]);

      expect(await answer(current, user, { id, ...approve })).toMatchObject({
        state: 'ANSWERED',
        answer: { answerId: 'a' },
      });
      await expectStored(id, { status: 'dismissed', state: 'answered', answer: 'a' });
    });

    test('is answered or withdrawn, not both, if the release settles it concurrently', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, async (_, number) => {
          const id = await ask(`race-${number}`);
          const settle =
            number % 2 === 0
              ? resolve(released, user, `race-${number}`, 'RESUMED')
              : ask(`race-${number}`, released);
          const [result] = await Promise.all([
            answer(current, user, { id, answerId: 'a', ...approve }),
            settle,
          ]);
          const isAnswered = result.__typename === 'AnswerStored';
          expect(result).toMatchObject(isAnswered ? {} : { state: 'WITHDRAWN', answer: null });
          return { id, isAnswered };
        }),
      );

      for (const { id, isAnswered } of outcomes) {
        expect(await readState(id)).toBe(isAnswered ? 'ANSWERED' : 'WITHDRAWN');
        await expectStored(id, {
          status: 'resolved',
          state: isAnswered ? 'answered' : 'withdrawn',
          answer: isAnswered ? 'a' : null,
        });
      }
    });
  });

  test("the release's examples run at both, except those whose names the change log replaces", async () => {
    const replaced: string[] = [];
    // A token with the scope of tasks can have no other.
    const all = [...grants.keys()].filter((scope) => scope !== TASK_SCOPE);
    const token = await signToken({ sub: 'alice', org_id: 'acme', scope: all.join(' ') });
    for (const { path, document, variables } of await readReleaseExamples(folder)) {
      for (const gateway of [released, current]) {
        const { status, errors } = await graphql(gateway, document, variables, { token });
        const codes = errors.map(({ extensions }) => extensions.code);
        if (gateway === current && (codes.includes('BAD_REQUEST') || codes.includes('VALIDATION_FAILED'))) {
          replaced.push(path);
          continue;
        }
        expect({ path, status, codes: codes.filter((code) => !isExpected(code)) }).toEqual({
          path,
          status: 200,
          codes: [],
        });
      }
    }
    expect(replaced.sort()).toEqual([
      'dashboard/another-user.graphql',
      'dashboard/delivery-statistics.graphql',
      'dashboard/statistics.graphql',
      'dashboard/task.graphql',
      'dashboard/users.graphql',
      'platform/publish-notifications.graphql',
      'platform/resolve-notifications.graphql',
      'platform/retry-deliveries.graphql',
      'web-app/inbox.graphql',
    ]);
  });

  test('the release can be started on the new schema', async () => {
    const rolledBack = await startReleased(folder, { ...settings, NODE_ENV: 'production' }, database);
    expect(await readReadiness(rolledBack)).toMatchObject({ status: 'ready' });
    await runWorkload([rolledBack, current], 'rolled-back', 7);
    await rolledBack.close();
  });

  test('none of them logged an error', () => {
    for (const gateway of [released, current]) {
      const levels = gateway.logLines().flatMap((line) => /"level":(\d+)/.exec(line)?.[1] ?? []);
      expect(levels.length).toBeGreaterThan(0);
      expect(gateway.logLines().filter((line) => /"level":[56]0/.test(line))).toEqual([]);
    }
  });
});

/** Starts a gateway of the release, in a process of its own. */
async function startReleased(
  folder: string,
  settings: Record<string, string>,
  database: TestDatabase,
): Promise<TestGateway> {
  const gateway = startReleaseProgram(folder, 'src/main.ts', { ...settings, PORT: '0' });
  return {
    address: await gateway.waitForOutput(/Listening on (http:\/\/[^\s"]+)/),
    adminAddress: '',
    startLines: [],
    database,
    logLines: () => gateway.stdout().split('\n'),
    close: async () => expect(await gateway.stop()).toMatchObject({ status: 0, stderr: '' }),
  };
}

async function readReadiness({ address }: TestGateway): Promise<unknown> {
  return (await fetch(`${address}/readyz`)).json();
}

/** Runs changes of three users at once, distributed over the gateways, and checks their records. */
async function runWorkload(gateways: readonly TestGateway[], name: string, seed: number): Promise<void> {
  const workload = new Workload(
    gateways,
    [1, 2, 3].map((number) => `${name}-${number}`),
  );
  const sequence: Operation[] = fc.sample(operations, { numRuns: 60, seed });
  await Promise.all(sequence.map((operation, index) => runOperation(workload, operation, index)));
  for (const user of workload.users) await checkUser(workload, user);
}

const pair = { accessToken: 'access', refreshToken: 'refresh' };
const refreshed = { accessToken: 'next-access', refreshToken: 'next-refresh' };

async function storeCredential(gateway: TestGateway, token: string): Promise<void> {
  const { status } = await rest(gateway, 'PUT', '/editor/auth/subscription', { token, body: pair });
  expect(status).toBe(200);
}

async function setPreference(gateway: TestGateway, token: string): Promise<void> {
  const preferences = [{ email_enabled: true, push_enabled: false, chat_dm_enabled: true }];
  const path = '/user/notification-preferences';
  expect((await rest(gateway, 'PUT', path, { token, body: { preferences } })).status).toBe(200);
}

async function readTokens(gateway: TestGateway, userId: string): Promise<unknown> {
  const query = 'query ($userId: ID!) { editorCredential(userId: $userId) { accessToken refreshToken } }';
  return (await asPlatform(gateway, query, { userId })).editorCredential;
}

async function refreshCredential(gateway: TestGateway, userId: string): Promise<void> {
  const version = await credentialVersion(gateway, userId);
  const query =
    'mutation ($input: RefreshEditorCredentialInput!) { refreshEditorCredential(input: $input) { version } }';
  await asPlatform(gateway, query, { input: { userId, version, ...refreshed } });
}

/** Whether an example may fail with a code, because the records that it names do not exist or have changed. */
const isExpected = (code: unknown) => code === 'NOT_FOUND' || code === 'CONFLICT';

/** Reads the queries and mutations of a release's examples, each as a document of its own. */
async function readReleaseExamples(folder: string) {
  const examples = join(folder, 'examples');
  const paths = (await readdir(examples, { recursive: true })).filter((path) => path.endsWith('.graphql'));
  const documents = await Promise.all(
    paths.toSorted().map(async (path) => {
      const { definitions } = parse(await readFile(join(examples, path), 'utf8'));
      const file = join(examples, path.replace('.graphql', '.json'));
      const variables = await readFile(file, 'utf8').then(JSON.parse, () => ({}));
      const fragments = definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION);
      return definitions.flatMap((one) =>
        one.kind === Kind.OPERATION_DEFINITION && one.operation !== OperationTypeNode.SUBSCRIPTION
          ? [{ path, document: print({ kind: Kind.DOCUMENT, definitions: [one, ...fragments] }), variables }]
          : [],
      );
    }),
  );
  return documents.flat();
}
