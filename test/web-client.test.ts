import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  type Card,
  chooseChannels,
  connect,
  currentCursor,
  dismiss,
  follow,
  readWorkspaces,
  showInbox,
  showPreferences,
  showTotal,
  type View,
} from './clients/web-inbox.ts';
import { eventually } from './support/eventually.ts';
import { startTestGateway, type TestGateway } from './support/gateway.ts';
import { dismiss as dismissBy } from './support/inbox.ts';
import { startProxy, type TestProxy } from './support/proxy.ts';
import { type Kind, payloads, publish, putWorkspaces, workspaceInput } from './support/records.ts';
import { member } from './support/tokens.ts';
import { printWebSchema } from './support/web-schema.ts';

test("the client's schema matches schema.graphql", async () => {
  const sdl = await readFile(new URL('../schema.graphql', import.meta.url), 'utf8');
  await expect(printWebSchema(sdl)).toMatchFileSnapshot('clients/web-schema.ts');
});

describe('the inbox of a web client', () => {
  let gateway: TestGateway;
  let proxy: TestProxy;
  let client: ReturnType<typeof connect>;
  let user: string;
  beforeAll(async () => {
    gateway = await startTestGateway();
    proxy = await startProxy(Number(new URL(gateway.address).port));
  });
  afterAll(async () => {
    await proxy.close();
    await gateway.close();
  });
  beforeEach(async () => {
    user = randomUUID();
    const token = await member(user);
    client = connect(`http://127.0.0.1:${proxy.port}`, () => token);
  });

  /** Records the values that a part of the screen shows, and its errors. */
  function watch<Shown>(start: (to: typeof client, view: View<Shown>) => () => void) {
    const shown: Shown[] = [];
    const failures: string[] = [];
    onTestFinished(
      start(client, {
        show: (now) => void shown.push(now),
        fail: ({ graphQLErrors }) =>
          void failures.push(...graphQLErrors.map(({ extensions }) => String(extensions.code))),
      }),
    );
    return { shown, failures };
  }

  /** Returns how often a user's list was requested from the gateway. */
  const listReads = (userId: string) =>
    gateway.logLines().filter((line) => {
      const { user: caller, operation } = JSON.parse(line);
      return caller === userId && operation === 'notifications';
    }).length;

  const titles = (cards: readonly Card[] | undefined) => cards?.map(({ title }) => title);

  test('shows every kind with its own payload, and its task as of the notification', async () => {
    for (const kind of Object.keys(payloads) as Kind[]) {
      await publish(gateway, user, kind, {
        task: { id: 'task-1', projectId: 'project', name: `At ${kind}` },
      });
    }
    const { shown } = watch(showInbox);
    await eventually(() => expect(shown).toHaveLength(1));
    expect(shown[0]?.map((card) => [card.task.name, headline(card)])).toEqual([
      ['At task_response_ready', 'Done'],
      ['At task_failed', 'It broke'],
      ['At question_requested', 'Which?'],
      ['At plan_requested', 'In short'],
    ]);
  });

  test('removes a dismissed notification without requesting the list again', async () => {
    const { id } = await publish(gateway, user, 'task_failed', { title: 'Dismissed' });
    await publish(gateway, user, 'task_failed', { title: 'Stays' });
    const { shown } = watch(showInbox);
    await eventually(() =>
      expect([listReads(user), titles(shown.at(-1))]).toEqual([1, ['Stays', 'Dismissed']]),
    );
    await dismiss(client, id);
    await eventually(() => expect(titles(shown.at(-1))).toEqual(['Stays']));
    expect(shown).toHaveLength(2);
    expect(listReads(user)).toBe(1);
  });

  test('updates the list and the count with live events, and misses none after a disconnection', async () => {
    const controller = new AbortController();
    const cursor = await currentCursor(client);
    const { shown } = watch(showInbox);
    const { shown: totals } = watch(showTotal);
    await eventually(() => expect([shown.at(-1), totals.at(-1)]).toEqual([[], 0]));
    const followed = follow(client, cursor, controller.signal);
    const { id } = await publish(gateway, user, 'plan_requested', { title: 'First' });
    await eventually(() => expect([titles(shown.at(-1)), totals.at(-1)]).toEqual([['First'], 1]));

    await proxy.setState('refuse');
    await publish(gateway, user, 'question_requested', { title: 'Second' });
    await dismissBy(gateway, user, [id]);
    await proxy.setState('open');
    await eventually(() => expect([titles(shown.at(-1)), totals.at(-1)]).toEqual([['Second'], 1]));
    controller.abort();
    await followed;
  });

  test('shows chosen channels in the list of preferences', async () => {
    const { shown } = watch(showPreferences);
    await eventually(() =>
      expect(shown.at(-1)?.map(({ emailEnabled }) => emailEnabled)).toEqual([true, true, true, true]),
    );
    await chooseChannels(client, [
      { notificationKind: 'TASK_FAILED', emailEnabled: false, pushEnabled: true, chatDmEnabled: true },
    ]);
    await eventually(() =>
      expect(shown.at(-1)?.map(({ emailEnabled }) => emailEnabled)).toEqual([true, true, false, true]),
    );
    expect(shown).toHaveLength(2);
  });

  test('reads workspaces page by page into one list', async () => {
    const ids = await putWorkspaces(
      gateway,
      user,
      [1, 2, 3, 4, 5].map((day) => workspaceInput({ createdAt: `2026-05-0${day}T00:00:00.000Z` })),
    );
    const lists = [];
    for await (const nodes of readWorkspaces(client, 2)) lists.push(nodes.map(({ id }) => id));
    const newestFirst = ids.toReversed();
    expect(lists).toEqual([newestFirst.slice(0, 2), newestFirst.slice(0, 4), newestFirst]);
  });

  test('shows an invalid token as an error', async () => {
    client = connect(gateway.address, () => 'no-token');
    const { shown, failures } = watch(showInbox);
    await eventually(() => expect(failures).toEqual(['UNAUTHENTICATED']));
    expect(shown).toEqual([]);
  });

  test('reports an error with its code and location', async () => {
    const failure = dismiss(client, '');
    await expect(failure).rejects.toMatchObject({
      graphQLErrors: [{ extensions: { code: 'VALIDATION_FAILED', errors: [{ location: 'input.id' }] } }],
    });
  });
});

/** Returns the line below a card's title, which is a different field for each kind. */
function headline(card: Card): string | null | undefined {
  switch (card.__typename) {
    case 'PlanRequestedNotification':
      return card.payload.summary;
    case 'QuestionRequestedNotification':
      return card.payload.questions[0]?.question;
    case 'TaskFailedNotification':
    case 'TaskResponseReadyNotification':
      return card.payload.message;
  }
}
