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
import { planDraft } from '../support/drafts.ts';

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
  const { onExpiry, ...content } = planDraft({ taskId: 'task' });
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
    given: { ...content, onExpiry },
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
  const settle: [string, (inbox: Inbox, time: Time, onExpiry: Answer | null) => void][] = [
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
    [
      'a repeated publication',
      (inbox, time, onExpiry) => void inbox.publish(createDraft('a', { ...expiring, onExpiry }), time),
    ],
  ];

  test.each(settle)('%s stores an expiry that is due first, and takes its default', (_name, store) => {
    for (const [onExpiry, state] of [
      [null, 'expired'],
      [rejection, 'answered'],
    ] as const) {
      const inbox = new Inbox();
      publishAt(inbox, 'a', 0, { ...expiring, onExpiry });
      store(inbox, at(10), onExpiry);
      const stored = { requestState: state, resolution: state, answer: onExpiry, resolvedAt: at(10) };
      expect(inbox.get('a')).toMatchObject(stored);
      expect(inbox.events).toMatchObject([{ type: `notification.${state}`, id: 'a' }]);
    }
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
