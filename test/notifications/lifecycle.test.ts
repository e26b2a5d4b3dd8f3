import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../../src/notifications/answers/answer.ts';
import {
  acknowledge,
  answer,
  applyPatch,
  expire,
  isUnsettled,
  type Moment,
  type Patch,
  restore,
  type Step,
  settleInOrder,
  toState,
  withdraw,
} from '../../src/notifications/lifecycle.ts';
import type { Notification } from '../../src/notifications/notification.entity.ts';
import { type Draft, type Known, publish } from '../../src/notifications/publish.ts';
import { addMilliseconds, type Time } from '../../src/values/time.ts';

const START: Time = '2026-01-05T08:00:00.000Z';
const at = (seconds: number): Time => addMilliseconds(START, seconds * 1000);

const approval: Answer = {
  plan: { decision: 'approve', feedback: null },
  answerId: 'first',
  by: 'alice',
  via: 'rest',
};
const rejection: Answer = {
  plan: { decision: 'reject', feedback: null },
  answerId: null,
  by: null,
  via: 'default',
};

const noTargets = { email: [], push: [], chat: [] };
const outside = {
  reach: { channels: undefined, targets: noTargets },
  providers: new Set<never>(),
  emailDelayMs: 0,
};

function createDraft(id: string, given: Partial<Draft> = {}): Draft {
  const content = {
    kind: 'plan_requested' as const,
    payload: { toolId: 'tool', input: { summary: 'S', plan: 'P' } },
    taskId: 'task',
    taskName: null,
    projectId: 'project',
    projectName: null,
    projectRepoUrl: null,
    workspaceId: null,
    title: 'A title',
    previewText: null,
    prUrl: null,
    occurredAt: null,
    expiresAt: null,
    expiresInSeconds: null,
  };
  const request = { id: null, supersedes: 'task_and_kind' as const, onExpiry: null };
  return {
    ...content,
    userId: 'alice',
    id,
    slot: '',
    everySlot: true,
    toolId: 'tool',
    asks: true,
    onExpiry: null,
    byTask: false,
    given: { ...content, ...request },
    path: [],
    ...given,
  };
}

/** The notifications of a user, changed by the rules as the store does. */
class Inbox {
  readonly stored = new Map<string, Notification>();
  readonly events: { type: string; id: string; revision: number }[] = [];
  revision = 0;
  mark: Known['mark'] = null;

  get all(): Notification[] {
    return [...this.stored.values()];
  }

  get active(): string[] {
    return this.all.filter(({ status }) => status === 'active').map(({ id }) => id);
  }

  get(id: string): Notification {
    const notification = this.stored.get(id);
    if (notification === undefined) throw new Error(`${id} is not stored.`);
    return notification;
  }

  moment(time: Time): Moment {
    return { at: time, revision: this.revision + 1 };
  }

  apply(steps: readonly (Step | undefined)[]): void {
    for (const step of steps) {
      if (step === undefined) continue;
      this.#patch(step.patch);
      if (step.event)
        this.events.push({ type: step.event.type, id: step.event.notificationId, revision: this.revision });
    }
  }

  publish(draft: Draft, time: Time) {
    const ofSlot = this.all.filter(({ slot }) => slot === draft.slot).map(({ occurredAt }) => occurredAt);
    const newest = ofSlot.toSorted().at(-1) ?? null;
    const known = {
      ...outside,
      states: this.all.map(toState),
      same: this.stored.get(draft.id),
      newest,
      mark: this.mark,
    };
    const published = publish(known, draft, this.moment(time));
    for (const patch of published.patches) this.#patch(patch);
    if (published.created) {
      this.stored.set(draft.id, published.notification);
      this.#move(published.notification.revision);
    }
    for (const { type, notificationId } of published.events)
      this.events.push({ type, id: notificationId, revision: this.revision });
    return published;
  }

  dismiss(id: string, time: Time): void {
    const { status, updatedAt, ...rest } = this.get(id);
    if (status === 'dismissed') return;
    const dismissedAt = updatedAt > time ? updatedAt : time;
    const revision = this.revision + 1;
    this.stored.set(id, { ...rest, revision, status: 'dismissed', dismissedAt, updatedAt: dismissedAt });
    this.#move(revision);
  }

  #patch(patch: Patch): void {
    this.stored.set(patch.id, applyPatch(this.get(patch.id), patch));
    this.#move(patch.revision);
  }

  #move(revision: number): void {
    expect(revision).toBe(this.revision + 1);
    this.revision = revision;
  }
}

const publishAt = (inbox: Inbox, id: string, seconds: number, given: Partial<Draft> = {}) =>
  inbox.publish(createDraft(id, given), at(seconds)).notification;

describe('a request', () => {
  const expiring = { expiresInSeconds: 10 };
  const settle: [string, (inbox: Inbox, time: Time) => void][] = [
    [
      'an answer',
      (inbox, time) => inbox.apply([answer(toState(inbox.get('a')), inbox.moment(time), approval)]),
    ],
    [
      'a withdrawal',
      (inbox, time) => inbox.apply([withdraw(toState(inbox.get('a')), inbox.moment(time), 'resumed')]),
    ],
    ['a successor', (inbox, time) => void inbox.publish(createDraft('b'), time)],
    ['the sweep', (inbox, time) => inbox.apply([expire(toState(inbox.get('a')), inbox.moment(time))])],
    ['a repeated publication', (inbox, time) => void inbox.publish(createDraft('a', expiring), time)],
  ];

  const before = [
    ['an answer', 'answered', 'answered', approval],
    ['a withdrawal', 'withdrawn', 'resumed', null],
    ['a successor', 'withdrawn', 'superseded', null],
    ['the sweep', 'open', null, null],
    ['a repeated publication', 'open', null, null],
  ] as const;

  test.each(before)('%s before the expiry makes it %s', (name, requestState, resolution, given) => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0, expiring);
    settle.find(([what]) => what === name)?.[1](inbox, at(9));
    expect(inbox.get('a')).toMatchObject({ requestState, resolution, answer: given });
  });

  test.each(settle)('%s stores an expiry that is due first', (_name, store) => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0, expiring);
    store(inbox, at(10));
    expect(inbox.get('a')).toMatchObject({
      requestState: 'expired',
      resolution: 'expired',
      answer: null,
      resolvedAt: at(10),
    });
    expect(inbox.events).toMatchObject([{ type: 'notification.expired', id: 'a' }]);
  });

  test.each(settle)('%s takes the default of one that is due', (_name, store) => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0, { ...expiring, onExpiry: rejection });
    const repeated = { ...expiring, onExpiry: rejection };
    if (_name === 'a repeated publication') inbox.publish(createDraft('a', repeated), at(10));
    else store(inbox, at(10));
    expect(inbox.get('a')).toMatchObject({
      requestState: 'answered',
      resolution: 'answered',
      answer: rejection,
    });
    expect(inbox.events).toMatchObject([{ type: 'notification.answered', id: 'a' }]);
  });

  test('of a dismissed notification is settled, and the notification stays dismissed, later than before', () => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0);
    inbox.dismiss('a', at(5));
    inbox.apply([answer(toState(inbox.get('a')), inbox.moment(at(1)), approval)]);
    expect(inbox.get('a')).toMatchObject({
      status: 'dismissed',
      requestState: 'answered',
      updatedAt: addMilliseconds(at(5), 1),
    });
  });

  test('keeps its first receipt, which only an answer has', () => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0, { ...expiring, onExpiry: rejection });
    const receive = (seconds: number) =>
      inbox.apply([
        acknowledge(toState(inbox.get('a')), inbox.moment(at(seconds)), {
          outcome: 'accepted',
          message: null,
          at: at(seconds),
        }),
      ]);
    receive(1);
    expect(inbox.get('a')).toMatchObject({ requestState: 'open', receipt: null });
    receive(11);
    receive(12);
    expect(inbox.get('a')).toMatchObject({
      requestState: 'answered',
      answer: rejection,
      receipt: { at: at(11) },
    });
  });
});

describe('restoring', () => {
  test.each([
    ['nothing else', [], 'active', null],
    ['a later one of its slot', [['b', 1, {}]], 'resolved', 'superseded'],
    ['a later one that was dismissed', [['b', 1, {}, 'dismissed']], 'resolved', 'superseded'],
    ['a later one of another slot', [['b', 1, { slot: 'id:b', everySlot: false }]], 'active', null],
    ['an earlier one that arrived late', [['b', 1, { occurredAt: at(-5) }]], 'active', null],
  ] as const)('after %s', (_what, others, status, resolution) => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0);
    inbox.dismiss('a', at(0));
    for (const [id, seconds, given, then] of others) {
      publishAt(inbox, id, seconds, given);
      if (then) inbox.dismiss(id, at(seconds));
    }
    const { slot } = inbox.get('a');
    const ofSlot = inbox.all.filter((other) => other.slot === slot);
    inbox.apply([restore(toState(inbox.get('a')), inbox.moment(at(2)), ofSlot)]);
    expect(inbox.get('a')).toMatchObject({ status, resolution, dismissedAt: null });
  });
});

describe('order in time', () => {
  /** Every order of these. */
  function* permute<Item>(items: readonly Item[]): Generator<Item[]> {
    if (items.length === 0) yield [];
    for (const [index, item] of items.entries())
      for (const rest of permute(items.toSpliced(index, 1))) yield [item, ...rest];
  }

  test('the one of a slot that occurred last is active, whatever the order of arrival', () => {
    const drafts = [1, 2, 3, 4].map((seconds) => createDraft(`n${seconds}`, { occurredAt: at(seconds) }));
    for (const order of permute(drafts)) {
      const inbox = new Inbox();
      for (const draft of order) inbox.publish(draft, at(10));
      expect(inbox.active).toEqual(['n4']);
      const withdrawn = inbox.events.filter(({ type }) => type === 'notification.withdrawn');
      expect(withdrawn.map(({ id }) => id).toSorted()).toEqual(['n1', 'n2', 'n3']);
    }
  });

  test('slots of tool calls supersede only their own, and a publication for the task supersedes all up to it', () => {
    const ofTool = (id: string, seconds: number, tool: string) =>
      createDraft(id, { occurredAt: at(seconds), slot: `tool:${tool}`, everySlot: false });
    const drafts = [ofTool('x1', 1, 'x'), ofTool('x2', 3, 'x'), ofTool('y1', 2, 'y')];
    for (const order of permute([...drafts, createDraft('all', { occurredAt: at(2) })])) {
      const inbox = new Inbox();
      for (const draft of order) inbox.publish(draft, at(10));
      // Those that arrive after `all` are ordered within their slot only.
      const later = order.slice(order.findIndex(({ id }) => id === 'all'));
      const expected = ['all', 'x2', ...(later.some(({ id }) => id === 'y1') ? ['y1'] : [])];
      expect(inbox.active.toSorted()).toEqual(expected);
    }
  });

  test.each([
    [1, 'resolved', 'resumed'],
    [2, 'resolved', 'resumed'],
    [3, 'active', null],
  ] as const)(
    'a mark up to second 2 resolves what occurred in second %i when it arrives',
    (seconds, status, resolution) => {
      const inbox = new Inbox();
      inbox.mark = { resolvedUpTo: at(2), resolution: 'resumed' };
      const notification = publishAt(inbox, 'a', 5, { occurredAt: at(seconds) });
      expect(notification).toMatchObject({
        status,
        resolution,
        requestState: status === 'active' ? 'open' : 'withdrawn',
      });
    },
  );

  test('without a time, a draft occurs now, or when the newest that it follows did if that is later', () => {
    const inbox = new Inbox();
    publishAt(inbox, 'a', 0, { occurredAt: at(100) });
    expect(publishAt(inbox, 'b', 1)).toMatchObject({ occurredAt: at(100), status: 'active' });
    expect(inbox.active).toEqual(['b']);
  });
});

const seconds = fc.nat(9);
const id = fc.constantFrom('a', 'b', 'c');
const slot = fc.constantFrom('', 'tool:x');
const event = fc.oneof(
  fc.record({
    what: fc.constant('publish' as const),
    id,
    seconds,
    slot,
    everySlot: fc.boolean(),
    asks: fc.boolean(),
    expires: fc.option(seconds),
  }),
  fc.record({
    what: fc.constantFrom('answer', 'dismiss', 'restore', 'withdraw', 'expire', 'acknowledge'),
    id,
  }),
);

test('any seven events leave one active notification a slot, and never change what is settled', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(event, seconds), { maxLength: 7 }), (given) => {
      const inbox = new Inbox();
      for (const [event, time] of given) {
        const before = new Map(inbox.stored);
        const events = inbox.events.length;
        run(inbox, event, at(time));
        check(inbox, before, inbox.events.slice(events));
      }
    }),
    { numRuns: 2000 },
  );
});

function run(inbox: Inbox, event: GivenEvent, time: Time): void {
  if (event.what === 'publish') {
    const { slot, asks, everySlot, expires } = event;
    if (inbox.stored.has(event.id)) return;
    const expiry =
      asks && expires !== null
        ? { expiresInSeconds: expires + 1, onExpiry: expires % 2 ? rejection : null }
        : {};
    const draft = {
      slot,
      everySlot: everySlot && slot === '',
      asks,
      occurredAt: at(event.seconds),
      ...expiry,
    };
    inbox.publish(createDraft(event.id, draft), time);
    return;
  }
  if (!inbox.stored.has(event.id)) return;
  const state = toState(inbox.get(event.id));
  const moment = inbox.moment(time);
  if (event.what === 'dismiss') inbox.dismiss(event.id, time);
  if (event.what === 'answer') inbox.apply([answer(state, moment, approval)]);
  if (event.what === 'expire') inbox.apply(settleInOrder(inbox.all.map(toState), moment, expire));
  if (event.what === 'withdraw') inbox.apply(isUnsettled(state) ? [withdraw(state, moment, 'resumed')] : []);
  if (event.what === 'acknowledge')
    inbox.apply([acknowledge(state, moment, { outcome: 'accepted', message: null, at: time })]);
  if (event.what === 'restore')
    inbox.apply([
      restore(
        state,
        moment,
        inbox.all.filter((other) => other.slot === state.slot),
      ),
    ]);
}

type GivenEvent = typeof event extends fc.Arbitrary<infer Given> ? Given : never;

function check(
  inbox: Inbox,
  before: ReadonlyMap<string, Notification>,
  events: readonly { type: string; id: string }[],
): void {
  const active = inbox.all.filter(({ status }) => status === 'active').map((one) => one.slot);
  expect(new Set(active).size).toBe(active.length);
  for (const now of inbox.all) {
    const earlier = before.get(now.id);
    const settled =
      earlier?.requestState === 'open' || earlier === undefined ? [] : [earlier.requestState, earlier.answer];
    if (settled.length > 0) expect([now.requestState, now.answer]).toEqual(settled);
    if (earlier?.receipt) expect(now.receipt).toEqual(earlier.receipt);
    if (earlier) expect(now.updatedAt >= earlier.updatedAt).toBe(true);
    if (earlier && now.revision === earlier.revision) expect(now).toEqual(earlier);
    // An answer exists exactly if the request is answered, and what is resolved says why.
    expect(now.answer !== null).toBe(now.requestState === 'answered');
    expect(now.status === 'active' && now.resolvedAt !== null).toBe(false);
    expect(now.requestState === 'open' && now.resolvedAt !== null).toBe(false);
    const isSettledNow =
      now.requestState !== 'none' &&
      now.requestState !== 'open' &&
      (earlier === undefined || earlier.requestState === 'open');
    const reported = events.filter(
      (event) => event.id === now.id && event.type === `notification.${now.requestState}`,
    );
    expect(reported.length).toBe(isSettledNow ? 1 : 0);
  }
}
