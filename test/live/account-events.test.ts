import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  type AccountCursor,
  canResume,
  formatAccountCursor,
} from '../../src/account-events/account-events.ts';
import { formatEventCursor } from '../../src/revisions/event-cursor.ts';
import { refused } from '../support/as.ts';
import { renewEpochOf } from '../support/database.ts';
import { useGateway } from '../support/gateway.ts';
import { deleteUser, publish, putWorkspaces, workspaceInput } from '../support/records.ts';
import type { SseStream } from '../support/sse.ts';
import { platform, signToken } from '../support/tokens.ts';

const gateway = useGateway();
/** A second gateway on the same database. */
const second = useGateway({}, gateway);
const { as } = gateway;

const SUBSCRIPTION = `subscription ($after: String, $types: [AccountEventType!]) {
  accountEvents(after: $after, types: $types) { cursor content {
    __typename
    ... on StreamStart { resumed }
    ... on NotificationEvent { type notification { ... on UserNotification { id status } } }
    ... on NotificationCounts { total openRequests byKind { kind count } cursor }
    ... on WorkspaceEvent { workspaceId workspace { id status } }
    ... on EditorAuthEvent { editorAuth { auth { type } } }
  } }
}`;

type Options = { after?: string; types?: string[] };

const open = (user: string, options: Options = {}, at = gateway) => at.as(user).follow(SUBSCRIPTION, options);

async function take(stream: SseStream) {
  const { data, errors } = await stream.take();
  expect(errors).toEqual([]);
  return data.accountEvents;
}

/** Returns the next events of a stream. */
async function takeMany(stream: SseStream, count: number) {
  const events: { content: object; cursor: string }[] = [];
  while (events.length < count) events.push(await take(stream));
  return events;
}

/** Expects these events next, in this order. */
const expectNext = async (stream: SseStream, ...contents: object[]) =>
  expect((await takeMany(stream, contents.length)).map(({ content }) => content)).toEqual(contents);

const start = (resumed: boolean) => ({ __typename: 'StreamStart', resumed });
const notification = (id: string, status: string, type: string) => ({
  __typename: 'NotificationEvent',
  type,
  notification: { id, status },
});
const counts = (total: number, openRequests = 0) =>
  expect.objectContaining({ __typename: 'NotificationCounts', total, openRequests });
const workspace = (id: string, status?: string) => ({
  __typename: 'WorkspaceEvent',
  workspaceId: id,
  workspace: status === undefined ? null : { id, status },
});
const editor = (type: string) => ({ __typename: 'EditorAuthEvent', editorAuth: { auth: { type } } });

/** Returns the contents of events, sorted by type and ID. */
const sort = (events: { content: object }[]) =>
  events.map(({ content }) => content).toSorted((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));

const connectEditor = (user: string) =>
  as(user).connectEditor({ accessToken: 'access-secret', refreshToken: 'refresh-secret' });
const removeWorkspace = (userId: string, id: string) =>
  as(platform).deleteWorkspace({ userId, id, deletedAt: new Date(Date.now() + 60_000).toISOString() });

test('delivers changes of notifications, counts, workspaces and the editor in one stream', async () => {
  const user = randomUUID();
  const before = await publish(gateway, user, 'task_failed');
  const stream = await open(user);
  await expectNext(stream, start(false));

  const { id } = await publish(gateway, user, 'plan_requested');
  await expectNext(stream, notification(id, 'ACTIVE', 'CREATED'), counts(2, 1));
  await as(user).dismiss({ id: before.id });
  await expectNext(stream, notification(before.id, 'DISMISSED', 'DISMISSED'), counts(1, 1));
  const input = workspaceInput();
  await putWorkspaces(gateway, user, [input]);
  await expectNext(stream, workspace(input.id, 'RUNNING'));
  await connectEditor(user);
  await expectNext(stream, editor('SUBSCRIPTION'));
  await removeWorkspace(user, input.id);
  await expectNext(stream, workspace(input.id));
  stream.close();
});

test('an announcement from before a deletion of the user, with a later revision, delays nothing', async () => {
  const user = randomUUID();
  const stream = await open(user);
  await expectNext(stream, start(false));
  await publish(gateway, user, 'task_failed');
  await expectNext(stream, notification(expect.any(String), 'ACTIVE', 'CREATED'), counts(1, 0));
  // Once the stream of a new user has ended, the announcement has been received.
  const newUser = randomUUID();
  const ending = await open(newUser);
  const changes = [
    ...['notifications', 'workspaces', 'editorAuth'].map((topic) => [user, topic, 1000]),
    [newUser, 'user', 0],
  ];
  const payload = JSON.stringify({ from: 'another', number: 1, changes });
  await gateway.database.sql('select pg_notify($1, $2)', ['account_changes', payload]);
  await ending.ended;

  const { id } = await publish(gateway, user, 'plan_requested');
  await expectNext(stream, notification(id, 'ACTIVE', 'CREATED'), counts(2, 1));
  const input = workspaceInput();
  await putWorkspaces(gateway, user, [input]);
  await expectNext(stream, workspace(input.id, 'RUNNING'));
  await connectEditor(user);
  await expectNext(stream, editor('SUBSCRIPTION'));
  stream.close();
});

test('resumes all types after any event, on another gateway', async () => {
  const user = randomUUID();
  const kept = workspaceInput();
  const deleted = workspaceInput();
  await putWorkspaces(gateway, user, [kept, deleted]);
  const first = await open(user);
  const { cursor } = await take(first);
  first.close();

  const failed = await publish(gateway, user, 'task_failed');
  const asked = await publish(gateway, user, 'question_requested');
  await putWorkspaces(gateway, user, [
    { ...kept, status: 'STOPPED', updatedAt: new Date(Date.now() + 1000).toISOString() },
  ]);
  await removeWorkspace(user, deleted.id);
  await connectEditor(user);

  const stream = await open(user, { after: cursor }, second);
  await expectNext(stream, start(true));
  const missed = await takeMany(stream, 6);
  stream.close();
  expect(sort(missed)).toMatchObject(
    sort(
      [
        notification(failed.id, 'ACTIVE', 'CREATED'),
        notification(asked.id, 'ACTIVE', 'CREATED'),
        { __typename: 'NotificationCounts', total: 2, openRequests: 1 },
        workspace(kept.id, 'STOPPED'),
        workspace(deleted.id),
        editor('SUBSCRIPTION'),
      ].map((content) => ({ content })),
    ),
  );
  // Every cursor resumes with the events after it, none of them lost or repeated. Those of different types may be in
  // another order.
  for (const [index, { cursor: after }] of missed.entries()) {
    const resumed = await open(user, { after }, index % 2 ? gateway : second);
    await expectNext(resumed, start(true));
    expect(sort(await takeMany(resumed, missed.length - index - 1))).toEqual(sort(missed.slice(index + 1)));
    resumed.close();
  }
  const last = await open(user, { after: missed.at(-1)?.cursor ?? '' });
  const { id } = await publish(gateway, user, 'task_failed');
  await expectNext(last, start(true), notification(id, 'ACTIVE', 'CREATED'));
  last.close();
});

test('a stream before the first change of a user resumes from its cursor', async () => {
  const user = randomUUID();
  const stream = await open(user);
  const { cursor } = await take(stream);
  const { id } = await publish(gateway, user, 'task_failed');
  await expectNext(stream, notification(id, 'ACTIVE', 'CREATED'), counts(1));
  stream.close();

  const resumed = await open(user, { after: cursor });
  await expectNext(resumed, start(true), notification(id, 'ACTIVE', 'CREATED'), counts(1));
  resumed.close();
});

describe('types', () => {
  test('deliver only what they select, and a later stream with more types misses nothing', async () => {
    const user = randomUUID();
    const stream = await open(user, { types: ['COUNTS'] });
    await take(stream);
    const { id } = await publish(gateway, user, 'task_failed');
    const input = workspaceInput();
    await putWorkspaces(gateway, user, [input]);
    const event = await take(stream);
    expect(event.content).toEqual(counts(1));
    stream.close();

    const all = await open(user, { after: event.cursor });
    await expectNext(all, start(true), notification(id, 'ACTIVE', 'CREATED'), workspace(input.id, 'RUNNING'));
    all.close();
  });

  test('may be none: the stream begins and delivers nothing', async () => {
    const user = randomUUID();
    const stream = await open(user, { types: [] });
    await expectNext(stream, start(false));
    await publish(gateway, user);
    await deleteUser(gateway, user);
    expect(await stream.ended).toBe('complete');
    expect(stream.results).toHaveLength(1);
  });

  test('without membership, the editor is left out, and refused if it is named', async () => {
    const user = randomUUID();
    const single = as(() => signToken({ sub: user }));
    const stream = await single.follow(SUBSCRIPTION);
    await take(stream);
    await connectEditor(user);
    const { id } = await publish(gateway, user, 'task_failed');
    await expectNext(stream, notification(id, 'ACTIVE', 'CREATED'));
    stream.close();

    const { errors } = await single.subscribe(SUBSCRIPTION, { types: ['COUNTS', 'EDITOR_AUTH'] });
    expect(errors).toMatchObject([{ extensions: { code: 'ORG_MEMBERSHIP_REQUIRED' } }]);
  });
});

test.each<[when: string, change: (user: string) => Promise<unknown>]>([
  ['the user was deleted', (user) => deleteUser(gateway, user)],
  ['the epoch of the database was renewed', () => renewEpochOf(gateway.database)],
])('a cursor that cannot be resumed begins a stream now, and says so: after %s', async (_when, change) => {
  const user = randomUUID();
  await publish(gateway, user);
  const stream = await open(user);
  const { cursor } = await take(stream);
  await change(user);
  await publish(gateway, user);
  expect(await stream.ended).toBe('complete');

  const later = await open(user, { after: cursor });
  await expectNext(later, start(false));
  const { id } = await publish(gateway, user, 'task_failed');
  await expectNext(later, notification(id, 'ACTIVE', 'CREATED'));
  later.close();
});

const seen = { notifications: 2, counts: 2, workspaces: 2, editorAuth: 2 };

test.each([
  ['text', 'x'],
  ['a cursor of notificationEvents', formatEventCursor({ epoch: 'e', revision: 1 })],
  ['an epoch that cannot be stored', formatAccountCursor({ epoch: '\u0000', seen })],
  ['a negative revision', formatAccountCursor({ epoch: 'e', seen: { ...seen, counts: -1 } })],
])('rejects %s as a cursor', async (_name, after) => {
  const { errors } = await as('alice').subscribe(SUBSCRIPTION, { after });
  const refusal = refused('VALIDATION_FAILED', ['after', 'must be a cursor of `accountEvents`']);
  expect(errors).toMatchObject([{ extensions: refusal }]);
});

const latest: AccountCursor = { epoch: 'a', seen };
test.each<[string, AccountCursor, boolean]>([
  ['equal', latest, true],
  ['behind', { epoch: 'a', seen: { ...seen, counts: 1 } }, true],
  ['ahead', { epoch: 'a', seen: { ...seen, counts: 3 } }, false],
  ['of another epoch', { epoch: 'b', seen }, false],
  ['of before the first change', { epoch: '', seen: { ...seen, counts: 0 } }, true],
])('a cursor is resumed or not: %s', (_name, cursor, expected) => {
  expect(canResume(cursor, latest)).toBe(expected);
});
