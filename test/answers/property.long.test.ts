import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GraphQLReply, graphql } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { asMember, asPlatform, deleteUser } from '../support/records.ts';
import {
  type Command,
  commands,
  DEFAULT_CONTENT,
  type Draft,
  deletion,
  RequestModel,
} from '../support/request-model.ts';
import { acknowledge, currentRevision, listEvents, makeExpired, sendAnswer } from '../support/requests.ts';
import { member } from '../support/tokens.ts';

/* Two gateways on one database, of which any runs a change. Their sweeps store the expiries that no change stores. */

let gateways: TestGateway[];
beforeAll(async () => {
  const settings = { ENCRYPTION_KEYS: `key:${randomBytes(32).toString('base64')}` };
  const first = await startTestGateway(settings);
  gateways = [first, await startTestGateway(settings, first.database)];
});
afterAll(async () => {
  for (const gateway of gateways.toReversed()) await gateway.close();
});

const at = (index: number): TestGateway => {
  const gateway = gateways[index % gateways.length];
  if (gateway === undefined) throw new Error('There are two gateways.');
  return gateway;
};

const contents = {
  plan_requested: [{ plan: { decision: 'APPROVE' } }, { plan: { decision: 'REJECT' } }],
  question_requested: [
    { questions: [{ index: 0, options: [0] }] },
    { questions: [{ index: 0, options: [1] }] },
  ],
  task_response_ready: [{ reply: { text: 'yes' } }, { reply: { text: 'no' } }],
  task_failed: [{ reply: { text: 'yes' } }, { reply: { text: 'no' } }],
} as const;

const toPayload = ({ kind, tool }: Draft) =>
  ({
    plan_requested: { planRequested: { toolId: `${tool}`, input: { summary: 'S', plan: 'P' } } },
    question_requested: {
      questionRequested: {
        toolId: `${tool}`,
        input: { questions: [{ question: 'Which?', options: [{ label: 'A' }, { label: 'B' }] }] },
      },
    },
    task_response_ready: { taskResponseReady: { taskStatus: 'AWAITING_INPUT', message: 'M' } },
    task_failed: { taskFailed: { taskStatus: 'ERRORED', message: 'M' } },
  })[kind];

const toTime = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;

/** Publishes a draft, and returns whether it was created. */
async function publish(gateway: TestGateway, userId: string, draft: Draft): Promise<boolean> {
  const { id, task, kind, scope, minute, expiry } = draft;
  const data = await asPlatform(
    gateway,
    'mutation ($input: PublishNotificationInput!) { publishNotification(input: $input) { created } }',
    {
      input: {
        userId,
        id,
        task: { id: `task-${task}`, projectId: 'project' },
        title: 'A title',
        payload: toPayload(draft),
        occurredAt: toTime(minute),
        supersedes: scope,
        ...(expiry !== 'none' && { expiresInSeconds: 1000 }),
        ...(expiry === 'default' && { onExpiry: contents[kind][DEFAULT_CONTENT] }),
      },
    },
  );
  return data.publishNotification.created;
}

async function resolve(gateway: TestGateway, userId: string, selection: object, reason: string) {
  await asPlatform(
    gateway,
    'mutation ($input: ResolveNotificationsInput!) { resolveNotifications(input: $input) { __typename } }',
    { input: { userId, reason, ...selection } },
  );
}

const codeOf = ({ errors }: GraphQLReply) => String(errors[0]?.extensions.code);

/** Sends the changes of a user, and remembers what was published. */
class Caller {
  readonly drafts: Draft[] = [];
  readonly userId: string;

  constructor(userId: string) {
    this.userId = userId;
  }

  draft(command: Extract<Command, { type: 'publish' }>): Draft {
    const { type, ...draft } = command;
    const added = { ...draft, id: `n-${String(this.drafts.length).padStart(3, '0')}` };
    this.drafts.push(added);
    return added;
  }

  pick(index: number): Draft | undefined {
    return this.drafts[index % Math.max(1, this.drafts.length)];
  }

  /** Answers, and returns the result or the code of the error. */
  async answer(gateway: TestGateway, { id, kind }: Draft, answerId: string, content: 0 | 1) {
    const reply = await sendAnswer(gateway, this.userId, { id, answerId, ...contents[kind][content] });
    const result = reply.data?.answerNotification;
    if (!result) return { outcome: codeOf(reply), winner: null };
    const outcome = result.__typename === 'AnswerStored' ? 'AnswerStored' : `AlreadySettled ${result.state}`;
    return { outcome, winner: result.answer };
  }

  /** Acknowledges, and returns the receipt or the code of the error. */
  async acknowledge(gateway: TestGateway, { id }: Draft, outcome: string): Promise<string> {
    const reply = await acknowledge(gateway, this.userId, id, outcome);
    return reply.data?.acknowledgeAnswer?.notification.request.receipt.outcome ?? codeOf(reply);
  }

  async restore(gateway: TestGateway, { id }: Draft): Promise<void> {
    const query = 'mutation ($id: ID!) { restoreNotification(input: { id: $id }) { __typename } }';
    const reply = await graphql(gateway, query, { id }, { token: await member(this.userId) });
    if (reply.errors.length > 0) expect(codeOf(reply)).toBe('NOT_FOUND');
  }
}

/** Runs a change at a gateway and in the model, and compares their results. */
async function runBoth(caller: Caller, model: RequestModel, command: Command, gateway: TestGateway) {
  const { userId } = caller;
  if (command.type === 'publish') {
    const draft = caller.draft(command);
    return expect(await publish(gateway, userId, draft)).toBe(model.publish(draft));
  }
  if (command.type === 'resolve') {
    const { task, reason, upTo } = command;
    model.resolve(task, reason, upTo);
    const before = upTo === null ? undefined : toTime(upTo);
    return resolve(gateway, userId, { taskId: `task-${task}`, before }, reason);
  }
  if (command.type === 'deleteUser') {
    model.deleteUser();
    await deleteUser(gateway, userId);
    return;
  }
  const chosen = caller.pick(command.pick);
  if (chosen === undefined) return;
  const { id } = chosen;
  switch (command.type) {
    case 'repeat':
      return expect(await publish(gateway, userId, chosen)).toBe(model.publish(chosen));
    case 'answer': {
      const answerId = `a-${command.answerId}`;
      const expected = model.answer(id, answerId, command.content);
      const { outcome, winner } = await caller.answer(gateway, chosen, answerId, command.content);
      expect(outcome).toBe(expected);
      if (winner) expect(winner.answerId).toBe(model.find(id)?.answer?.answerId);
      return;
    }
    case 'acknowledge': {
      const expected = model.acknowledge(id, command.outcome);
      return expect(await caller.acknowledge(gateway, chosen, command.outcome)).toBe(expected);
    }
    case 'expire':
      model.expire(id);
      return makeExpired(gateway.database, userId, id);
    case 'dismiss':
      model.dismiss(id);
      await dismiss(gateway, userId, [id]);
      return;
    case 'restore':
      model.restore(id);
      return caller.restore(gateway, chosen);
    case 'resolveById':
      model.resolveById(id, command.reason);
      return resolve(gateway, userId, { ids: [id] }, command.reason);
  }
}

async function readStored(userId: string) {
  return at(0).database.sql(
    `select id, status, resolution, request_state as state, resolved_at is not null as "isResolved", slot,
            answer ->> 'answerId' as "answerId", answer is not null as "hasAnswer", receipt ->> 'outcome' as receipt,
            revision::int
       from notification where user_id = $1 order by id`,
    [userId],
  );
}

async function expectModel(userId: string, model: RequestModel): Promise<void> {
  const { database } = at(0);
  const rows = await readStored(userId);
  expect(rows.map(({ revision, ...row }) => row)).toEqual(
    model.notifications
      .map(({ id, status, resolution, state, isResolved, slot, answer, receipt }) => ({
        id,
        status,
        resolution,
        state,
        isResolved,
        slot,
        answerId: answer?.answerId ?? null,
        hasAnswer: answer !== null,
        receipt: receipt?.toLowerCase() ?? null,
      }))
      .toSorted((a, b) => (a.id < b.id ? -1 : 1)),
  );
  // Which notification's event comes first, is undefined for those that one change settles and for expiries.
  expect((await listEvents(database, userId)).toSorted()).toEqual(model.events.toSorted());
  const revision = await currentRevision(database, userId);
  expect(revision).toBeGreaterThanOrEqual(model.revision);
  expect(revision).toBeLessThanOrEqual(model.revision + model.marks);
  expectRevisions(rows, revision);
}

/** Each notification has the revision of its last change, which no other has. */
function expectRevisions(rows: Record<string, unknown>[], current: number): void {
  const revisions = rows.map(({ revision }) => Number(revision));
  expect(new Set(revisions).size).toBe(revisions.length);
  for (const revision of revisions) expect(revision).toBeLessThanOrEqual(current);
}

async function expectCounts(userId: string, model: RequestModel): Promise<void> {
  const query = `{ notificationCounts { total openRequests }
    notifications(first: 100, filter: { requestStates: [OPEN] }) { nodes { ... on UserNotification { id } } } }`;
  const open = model.notifications.filter(({ state }) => state === 'open').map(({ id }) => id);
  for (const gateway of gateways) {
    const { notificationCounts, notifications } = await asMember(gateway, userId, query);
    expect(notificationCounts).toEqual({
      total: model.notifications.filter(({ status }) => status === 'active').length,
      openRequests: open.length,
    });
    expect(notifications.nodes.map(({ id }: { id: string }) => id).toSorted()).toEqual(open.toSorted());
  }
}

let runs = 0;

test('whatever the order of changes, requests are settled as the model says', async () => {
  const sequences = fc.array(
    fc.tuple(fc.oneof({ weight: 120, arbitrary: commands }, { weight: 1, arbitrary: deletion }), fc.nat(1)),
    { minLength: 40, maxLength: 80 },
  );
  await fc.assert(
    fc.asyncProperty(sequences, async (sequence) => {
      runs += 1;
      const caller = new Caller(`sequential-${runs}`);
      const model = new RequestModel();
      for (const [command, gateway] of sequence) await runBoth(caller, model, command, at(gateway));

      await eventually(() => expectModel(caller.userId, model));
      await expectCounts(caller.userId, model);
    }),
    { numRuns: 16, endOnFailure: true },
  );
}, 180_000);

/** What the callers of a run were told about each notification. */
type Told = { winners: Map<string, Set<string>>; owners: Map<string, Set<string>> };

const add = (map: Map<string, Set<string>>, id: string, value: string) =>
  map.set(id, (map.get(id) ?? new Set()).add(value));

/** Runs a change, and records what an answer is told. */
async function runConcurrently(caller: Caller, command: Command, gateway: TestGateway, told: Told) {
  const { userId } = caller;
  if (command.type === 'publish') return publish(gateway, userId, caller.draft(command));
  if (command.type === 'deleteUser') return deleteUser(gateway, userId);
  if (command.type === 'resolve') {
    const before = command.upTo === null ? undefined : toTime(command.upTo);
    return resolve(gateway, userId, { taskId: `task-${command.task}`, before }, command.reason);
  }
  const chosen = caller.pick(command.pick);
  if (chosen === undefined) return;
  const { id } = chosen;
  switch (command.type) {
    case 'repeat':
      return publish(gateway, userId, chosen);
    case 'answer': {
      const answerId = `a-${command.answerId}-${command.content}`;
      const { outcome, winner } = await caller.answer(gateway, chosen, answerId, command.content);
      if (outcome === 'AnswerStored') add(told.owners, id, answerId);
      if (winner) add(told.winners, id, `${winner.answerId} ${winner.answeredAt}`);
      return;
    }
    case 'acknowledge':
      return caller.acknowledge(gateway, chosen, command.outcome);
    case 'expire':
      return makeExpired(gateway.database, userId, id);
    case 'dismiss':
      return dismiss(gateway, userId, [id]);
    case 'restore':
      return caller.restore(gateway, chosen);
    case 'resolveById':
      return resolve(gateway, userId, { ids: [id] }, command.reason);
  }
}

/** The settling events of each notification match its state, and dismissals alternate with restorations. */
async function expectSound(userId: string): Promise<void> {
  const { database } = at(0);
  const rows = await readStored(userId);
  const events = await listEvents(database, userId);
  const ids = new Set(rows.map(({ id }) => id));
  for (const event of events.filter((one) => one !== 'user.deleted'))
    expect(ids).toContain(event.split(' ')[1]);
  for (const row of rows) {
    const own = events.filter((event) => event.endsWith(` ${row.id}`)).map((event) => event.split(' ')[0]);
    const settled = own.filter((type) => type !== 'dismissed' && type !== 'restored');
    expect(settled).toEqual(row.state === 'open' || row.state === 'none' ? [] : [row.state]);
    const moves = own.filter((type) => type === 'dismissed' || type === 'restored');
    expect(moves).toEqual(moves.map((_, index) => (index % 2 === 0 ? 'dismissed' : 'restored')));
    expect(row.status === 'dismissed').toBe(moves.length % 2 === 1);
    if (row.state === 'open') expect(row).toMatchObject({ isResolved: false, resolution: null });
    if (row.status === 'active') expect(row.isResolved).toBe(false);
    expect(row.hasAnswer).toBe(row.state === 'answered');
    if (row.receipt !== null) expect(row.hasAnswer).toBe(true);
  }
  expectRevisions(rows, await currentRevision(database, userId));
  const due = await database.sql(
    `select from notification where user_id = $1 and request_state = 'open' and expires_at <= now()`,
    [userId],
  );
  expect(due).toEqual([]);
}

test('of concurrent changes, one settles each request, and every caller is told which', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(commands, { minLength: 40, maxLength: 80 }), async (sequence) => {
      runs += 1;
      const caller = new Caller(`concurrent-${runs}`);
      const told: Told = { winners: new Map(), owners: new Map() };
      const first = sequence.filter(({ type }) => type === 'publish');
      const others = sequence.filter(({ type }) => type !== 'publish');
      await Promise.all(first.slice(1).map((one, index) => runConcurrently(caller, one, at(index), told)));
      await Promise.all(
        [...others, ...first.slice(0, 1)].map((one, index) => runConcurrently(caller, one, at(index), told)),
      );

      await eventually(() => expectSound(caller.userId));
      for (const owners of told.owners.values()) expect(owners.size).toBe(1);
      for (const winners of told.winners.values()) expect(winners.size).toBe(1);
      const stored = new Map((await readStored(caller.userId)).map(({ id, answerId }) => [id, answerId]));
      for (const [id, owners] of told.owners) expect([...owners]).toEqual([stored.get(id)]);
    }),
    { numRuns: 8, endOnFailure: true },
  );
}, 180_000);

test('deleting the user beside other changes leaves only events of what is stored', async () => {
  const some = fc.oneof({ weight: 12, arbitrary: commands }, { weight: 1, arbitrary: deletion });
  await fc.assert(
    fc.asyncProperty(fc.array(some, { minLength: 40, maxLength: 80 }), async (sequence) => {
      runs += 1;
      const caller = new Caller(`deleted-${runs}`);
      const told: Told = { winners: new Map(), owners: new Map() };
      await Promise.all(sequence.map((one, index) => runConcurrently(caller, one, at(index), told)));

      await eventually(() => expectSound(caller.userId));
    }),
    { numRuns: 8, endOnFailure: true },
  );
}, 180_000);
