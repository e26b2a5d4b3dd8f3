import fc from 'fast-check';
import { expect, test } from 'vitest';
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
import { type Draft, publish } from '../../src/notifications/publish.ts';
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
      mark: null,
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

/* answers/property.long.test.ts compares what the gateway stores with a model. These hold for the functions alone. */

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

const seconds = fc.nat(9);
const id = fc.constantFrom('a', 'b', 'c');
const slot = fc.constantFrom('', 'tool:x');
const event = fc.oneof(
  fc.record({
    what: fc.constant('publish' as const),
    id,
    seconds,
    slot,
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
    const { slot, asks, expires } = event;
    if (inbox.stored.has(event.id)) return;
    const expiry =
      asks && expires !== null
        ? { expiresInSeconds: expires + 1, onExpiry: expires % 2 ? rejection : null }
        : {};
    const draft = {
      slot,
      everySlot: slot === '',
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
        inbox.all.filter((other) => other.slot === state.slot || other.slot === ''),
        undefined,
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
