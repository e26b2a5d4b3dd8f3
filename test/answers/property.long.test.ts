import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { dismiss } from '../support/inbox.ts';
import { notification, payloads } from '../support/records.ts';
import { answers, currentRevision, listEvents, makeExpired } from '../support/requests.ts';
import { platform } from '../support/tokens.ts';
import { type Command, commands, DEFAULT_CONTENT, type Draft, RequestModel } from './request-model.ts';

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

/** The two answers of each kind. */
const contents = {
  plan_requested: [answers.approve, answers.reject],
  question_requested: [answers.first, answers.second],
  task_response_ready: [answers.reply, { reply: { text: 'no' } }],
  task_failed: [answers.reply, { reply: { text: 'no' } }],
} as const;

function toPayload({ kind, tool }: Draft): object {
  const { planRequested } = payloads.plan_requested;
  const { questionRequested } = payloads.question_requested;
  if (kind === 'plan_requested') return { planRequested: { ...planRequested, toolId: `${tool}` } };
  if (kind === 'question_requested')
    return { questionRequested: { ...questionRequested, toolId: `${tool}` } };
  return payloads[kind];
}

const toTime = (minute: number) => `2026-01-01T00:0${minute}:00.000Z`;

const toInput = (userId: string, draft: Draft) =>
  notification(userId, draft.kind, {
    id: draft.id,
    task: { id: `task-${draft.task}`, projectId: 'project' },
    payload: toPayload(draft),
    occurredAt: toTime(draft.minute),
    supersedes: draft.scope,
    ...(draft.expiry !== 'none' && { expiresInSeconds: 1000 }),
    ...(draft.expiry === 'default' && { onExpiry: contents[draft.kind][DEFAULT_CONTENT] }),
  });

/** Returns a function that returns the draft that a command of a user is about, if any. */
function createDrafts(): (command: Command) => Draft | undefined {
  const all: Draft[] = [];
  return (command) => {
    if (command.type !== 'publish') return all[command.pick % Math.max(1, all.length)];
    const added = { ...command, id: `n-${String(all.length).padStart(3, '0')}` };
    all.push(added);
    return added;
  };
}

const codeOf = (error: unknown) => String(Reflect.get(Object(error), 'code'));

/** Runs a change of a user, and returns its result or the code of its refusal, and the answer that was returned. */
async function run(
  userId: string,
  command: Command,
  draft: Draft | undefined,
  gateway: TestGateway,
): Promise<{ result?: unknown; winner?: { answerId: string | null; answeredAt: string } | null }> {
  const [user, service] = [gateway.as(userId), gateway.as(platform)];
  if (command.type === 'deleteUser') {
    await service.deleteUser({ userId });
    return {};
  }
  if (command.type === 'resolve') {
    const before = command.upTo === null ? null : toTime(command.upTo);
    const { task, reason } = command;
    await service.resolve({ userId, taskId: `task-${task}`, before, reason });
    return {};
  }
  if (draft === undefined) return {};
  const { id, kind } = draft;
  switch (command.type) {
    case 'publish':
    case 'repeat':
      return { result: (await service.publish(toInput(userId, draft))).created };
    case 'answer':
      try {
        const { answerId, content } = command;
        const payload = await user.answer({ id, answerId, ...contents[kind][content] });
        const { __typename: type, answer: winner } = payload;
        return { result: type === 'AnswerStored' ? type : `${type} ${payload.state}`, winner };
      } catch (error) {
        return { result: codeOf(error) };
      }
    case 'acknowledge': {
      const receive = service.acknowledge({ userId, notificationId: id, outcome: command.outcome });
      return { result: await receive.then(({ request }) => request?.receipt?.outcome, codeOf) };
    }
    case 'expire':
      await makeExpired(gateway.database, userId, id);
      return {};
    case 'dismiss':
      await dismiss(gateway, userId, [id]);
      return {};
    case 'restore': {
      const refusal = await user.restore({ id }).then(() => 'NOT_FOUND', codeOf);
      expect(refusal).toBe('NOT_FOUND');
      return {};
    }
    case 'resolveById':
      await service.resolve({ userId, ids: [id], reason: command.reason });
      return {};
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
  const open = model.notifications.filter(({ state }) => state === 'open').map(({ id }) => id);
  for (const gateway of gateways) {
    expect(await gateway.as(userId).counts()).toMatchObject({
      total: model.notifications.filter(({ status }) => status === 'active').length,
      openRequests: open.length,
    });
    const { nodes } = await gateway.as(userId).notifications({ filter: { requestStates: ['OPEN'] } });
    expect(nodes.map(({ id }) => id).toSorted()).toEqual(open.toSorted());
  }
}

let runs = 0;

test('whatever the order of changes, requests are settled as the model says', async () => {
  await fc.assert(
    fc.asyncProperty(commands(0.01), async (sequence) => {
      runs += 1;
      const userId = `sequential-${runs}`;
      const [draftOf, model] = [createDrafts(), new RequestModel()];
      for (const [index, command] of sequence.entries()) {
        const draft = draftOf(command);
        const expected = model.run(command, draft);
        const { result, winner } = await run(userId, command, draft, at(index + command.pick));
        expect(result).toBe(expected);
        if (winner) expect(winner.answerId).toBe(model.find(draft?.id ?? '')?.answer?.answerId);
      }

      await eventually(() => expectModel(userId, model));
      await expectCounts(userId, model);
    }),
    { numRuns: 16, endOnFailure: true },
  );
}, 180_000);

/** Runs changes of a user at once, and returns the winners and the owners of answers that were returned, by notification. */
async function runConcurrently(
  userId: string,
  draftOf: ReturnType<typeof createDrafts>,
  sequence: readonly Command[],
) {
  const returned = { winners: new Map<string, Set<string>>(), owners: new Map<string, Set<string>>() };
  const add = (map: Map<string, Set<string>>, id: string, value: string) =>
    map.set(id, (map.get(id) ?? new Set()).add(value));
  await Promise.all(
    sequence.map(async (command, index) => {
      const draft = draftOf(command);
      const { result, winner } = await run(userId, command, draft, at(index));
      if (!winner || !draft) return;
      add(returned.winners, draft.id, `${winner.answerId} ${winner.answeredAt}`);
      if (result === 'AnswerStored' && command.type === 'answer')
        add(returned.owners, draft.id, command.answerId);
    }),
  );
  return returned;
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

test.each([
  ['of concurrent changes, one settles each request, and every caller receives it', 0],
  ['deleting the user beside other changes leaves only events of what is stored', 0.08],
])(
  '%s',
  async (_what, deletions) => {
    await fc.assert(
      fc.asyncProperty(commands(deletions), async (sequence) => {
        runs += 1;
        const userId = `concurrent-${runs}`;
        const draftOf = createDrafts();
        const first = sequence.filter(({ type }) => type === 'publish');
        const others = sequence.filter(({ type }) => type !== 'publish');
        await runConcurrently(userId, draftOf, first.slice(1));
        const returned = await runConcurrently(userId, draftOf, [...others, ...first.slice(0, 1)]);

        await eventually(() => expectSound(userId));
        // Answers that were returned for a deleted user are no longer stored.
        if (deletions > 0) return;
        const stored = new Map((await readStored(userId)).map(({ id, answerId }) => [id, answerId]));
        for (const [id, own] of returned.owners) expect([...own]).toEqual([stored.get(id)]);
        for (const winners of returned.winners.values()) expect(winners.size).toBe(1);
      }),
      { numRuns: 8, endOnFailure: true },
    );
  },
  180_000,
);
