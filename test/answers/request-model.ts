import fc from 'fast-check';
import type { Kind } from '../support/records.ts';

/** How requests of one user are published, answered and settled, in the simplest way. */

const kinds = ['plan_requested', 'question_requested', 'task_response_ready', 'task_failed'] as const;
const scopes = ['TASK_AND_KIND', 'TOOL_CALL', 'NOTHING'] as const;

export type Draft = {
  id: string;
  task: number;
  kind: Kind;
  scope: (typeof scopes)[number];
  tool: number;
  /** When it occurred, in minutes. */
  minute: number;
  /** `default`: with an answer for the expiry. */
  expiry: 'none' | 'expires' | 'default';
};

/** What an answer says: one of two. */
type Content = 0 | 1;
/** The answer that requests have if they expire and have a default. */
export const DEFAULT_CONTENT: Content = 1;

type ModelNotification = Draft & {
  slot: string;
  status: 'active' | 'resolved' | 'dismissed';
  resolution: string | null;
  state: 'none' | 'open' | 'answered' | 'expired' | 'withdrawn';
  isResolved: boolean;
  answer: { answerId: string | null; content: Content } | null;
  receipt: string | null;
  /** Whether it was active at first. */
  arrived: boolean;
  createdAt: number;
  dismissedAt: number;
};

/** Changes of a notification that `pick` chooses, but `publish` and `resolve`. */
const changes = [
  ...Array<'publish'>(8).fill('publish'),
  ...Array<'answer'>(6).fill('answer'),
  ...(['repeat', 'expire', 'expire', 'dismiss', 'dismiss', 'restore'] as const),
  ...(['acknowledge', 'acknowledge', 'resolveById', 'resolve', 'resolve'] as const),
] as const;

/** A change, with everything that one of any type has. `pick` chooses one of the notifications that were published so far. */
export type Command = Omit<Draft, 'id'> & {
  type: (typeof changes)[number] | 'deleteUser';
  pick: number;
  answerId: string;
  content: Content;
  outcome: 'ACCEPTED' | 'REFUSED';
  reason: 'ANSWERED_ELSEWHERE' | 'RESUMED' | 'TASK_DELETED';
  /** Of a resolution. */
  upTo: number | null;
};

const anyCommand = fc
  .record({
    type: fc.constantFrom(...changes),
    pick: fc.nat(99),
    task: fc.nat(1),
    kind: fc.oneof({ weight: 3, arbitrary: fc.constant(kinds[0]) }, fc.constantFrom(...kinds)),
    scope: fc.constantFrom(...scopes),
    tool: fc.nat(1),
    minute: fc.nat(3),
    expiry: fc.constantFrom('none' as const, 'expires' as const, 'default' as const),
    answerId: fc.constantFrom('a-0', 'a-1'),
    content: fc.constantFrom<Content>(0, 1),
    outcome: fc.constantFrom('ACCEPTED' as const, 'REFUSED' as const),
    reason: fc.constantFrom('ANSWERED_ELSEWHERE' as const, 'RESUMED' as const, 'TASK_DELETED' as const),
    upTo: fc.option(fc.nat(3)),
  })
  // Only plans and questions have tool calls, and only requests expire.
  .map((command): Command => {
    const hasTool = command.kind.endsWith('requested');
    return {
      ...command,
      scope: command.scope === 'TOOL_CALL' && !hasTool ? 'NOTHING' : command.scope,
      expiry: command.kind === 'task_failed' ? 'none' : command.expiry,
    };
  });

/** A sequence of changes, among them deletions of the user with a probability. */
export const commands = (deletions = 0): fc.Arbitrary<Command[]> =>
  fc.array(
    fc
      .tuple(anyCommand, fc.double({ min: 0, max: 1, noNaN: true }))
      .map(([command, chance]) => (chance < deletions ? { ...command, type: 'deleteUser' } : command)),
    { minLength: 40, maxLength: 80 },
  );

/** The records of one user. Each change is applied at once, so an expiry is stored when it is due. */
export class RequestModel {
  notifications: ModelNotification[] = [];
  events: string[] = [];
  /** The number of changes of notifications. */
  revision = 0;
  /** The number of resolutions up to a time, of which each moves the revision even if it matches nothing. */
  marks = 0;
  readonly #resolvedUpTo = new Map<string, { minute: number; reason: string; at: number }>();

  find(id: string): ModelNotification | undefined {
    return this.notifications.find((one) => one.id === id);
  }

  /** The number of changes that were run, as a clock. */
  #now = 0;

  /** Runs a change, of a draft if it is about one, and returns its result or the code of its refusal. */
  run(command: Command, draft: Draft | undefined): unknown {
    this.#now += 1;
    const { type, task, reason, upTo, answerId, content, outcome } = command;
    if (type === 'deleteUser') return this.deleteUser();
    if (type === 'resolve') return this.resolve(task, reason, upTo);
    if (draft === undefined) return undefined;
    const { id } = draft;
    switch (type) {
      case 'publish':
      case 'repeat':
        return this.publish(draft);
      case 'answer':
        return this.answer(id, answerId, content);
      case 'acknowledge':
        return this.acknowledge(id, outcome);
      case 'resolveById':
        return this.resolveById(id, reason);
      case 'expire':
      case 'dismiss':
      case 'restore':
        return this[type](id);
    }
  }

  /** Returns whether it is new. */
  publish(draft: Draft): boolean {
    if (this.find(draft.id)) return false;
    const { kind, task, scope, tool, minute, id } = draft;
    const slot = { TASK_AND_KIND: '', TOOL_CALL: `tool:${tool}`, NOTHING: `id:${id}` }[scope];
    const ofKind = this.notifications.filter((one) => one.task === task && one.kind === kind);
    const newest = Math.max(...ofKind.filter((one) => one.slot === slot).map((one) => one.minute));
    const resolved = this.#resolvedUpTo.get(`${task} ${kind}`);
    let resolution: string | null = null;
    if (minute < newest) resolution = 'superseded';
    else if (resolved && minute <= resolved.minute) resolution = resolved.reason;
    const isSettled = resolution !== null;
    if (!isSettled) {
      for (const one of ofKind) {
        if ((scope === 'TASK_AND_KIND' || one.slot === slot) && one.minute <= minute)
          this.#resolve(one, 'superseded');
      }
    }
    const settledState = isSettled ? 'withdrawn' : 'open';
    const state = kind === 'task_failed' ? 'none' : settledState;
    this.notifications.push({
      ...draft,
      slot,
      status: isSettled ? 'resolved' : 'active',
      resolution,
      state,
      isResolved: isSettled,
      answer: null,
      receipt: null,
      arrived: !isSettled,
      createdAt: this.#now,
      dismissedAt: 0,
    });
    this.revision += 1;
    if (state === 'withdrawn') this.events.push(`withdrawn ${id}`);
    return true;
  }

  expire(id: string): void {
    const found = this.find(id);
    if (found === undefined || found.state !== 'open' || found.expiry === 'none') return;
    // Making it due moves the revision too.
    this.revision += 1;
    if (found.expiry === 'expires') this.#settle(found, 'expired', 'expired');
    else {
      found.answer = { answerId: null, content: DEFAULT_CONTENT };
      this.#settle(found, 'answered', 'answered');
    }
  }

  /** Returns the result, or the code of the error. */
  answer(id: string, answerId: string, content: Content): string {
    const found = this.find(id);
    if (found === undefined) return 'NOT_FOUND';
    if (found.state === 'none') return 'VALIDATION_FAILED';
    if (found.answer?.answerId === answerId) {
      return found.answer.content === content ? 'AnswerStored' : 'CONFLICT';
    }
    if (found.state !== 'open') return `AlreadySettled ${found.state.toUpperCase()}`;
    found.answer = { answerId, content };
    this.#settle(found, 'answered', 'answered');
    return 'AnswerStored';
  }

  /** Returns the receipt, or the code of the error. */
  acknowledge(id: string, outcome: string): string {
    const found = this.find(id);
    if (found === undefined) return 'NOT_FOUND';
    if (found.answer === null) return 'CONFLICT';
    if (found.receipt === null) {
      found.receipt = outcome;
      this.revision += 1;
    }
    return found.receipt;
  }

  dismiss(id: string): void {
    const found = this.find(id);
    if (found === undefined || found.status === 'dismissed') return;
    found.status = 'dismissed';
    found.dismissedAt = this.#now;
    this.#change(`dismissed ${id}`);
  }

  restore(id: string): void {
    const found = this.find(id);
    if (found?.status !== 'dismissed') return;
    const ofKind = this.notifications.filter(({ task, kind }) => task === found.task && kind === found.kind);
    const isSuperseded = ofKind.some(
      (other) =>
        other.slot === found.slot &&
        (other.status === 'active' ||
          other.minute > found.minute ||
          (other.minute === found.minute && other.createdAt > found.createdAt)),
    );
    // What superseded every slot did not reach it while it was dismissed, and neither did a resolution.
    const isMissed = ofKind.some(
      ({ slot, arrived, minute, createdAt }) =>
        slot === '' && arrived && minute >= found.minute && createdAt > found.dismissedAt,
    );
    const mark = this.#resolvedUpTo.get(`${found.task} ${found.kind}`);
    const reason = mark && mark.at > found.dismissedAt && found.minute <= mark.minute ? mark.reason : null;
    const missed = isSuperseded ? 'superseded' : (reason ?? (isMissed ? 'superseded' : null));
    if (!found.isResolved && missed !== null) {
      found.isResolved = true;
      found.resolution = missed;
    }
    found.status = found.isResolved ? 'resolved' : 'active';
    this.#change(`restored ${id}`);
  }

  resolve(task: number, given: string, upTo: number | null): void {
    for (const one of this.notifications) {
      if (one.task === task && (upTo === null || one.minute <= upTo)) this.#resolve(one, given.toLowerCase());
    }
    if (upTo === null) return;
    for (const kind of kinds) {
      const stored = this.#resolvedUpTo.get(`${task} ${kind}`);
      if (stored === undefined || upTo > stored.minute)
        this.#resolvedUpTo.set(`${task} ${kind}`, {
          minute: upTo,
          reason: given.toLowerCase(),
          at: this.#now,
        });
    }
    this.marks += 1;
  }

  resolveById(id: string, given: string): void {
    const found = this.find(id);
    if (found) this.#resolve(found, given.toLowerCase());
  }

  deleteUser(): void {
    const hasData = this.revision + this.marks > 0;
    this.notifications = [];
    this.#resolvedUpTo.clear();
    this.revision = 0;
    this.marks = 0;
    if (hasData) this.events = ['user.deleted'];
  }

  /** Resolves a notification that is active or has an open request. */
  #resolve(one: ModelNotification, resolution: string): void {
    if (one.state === 'open') this.#settle(one, 'withdrawn', resolution);
    else if (one.status === 'active') {
      this.#close(one, resolution);
      this.revision += 1;
    }
  }

  #settle(one: ModelNotification, state: ModelNotification['state'], resolution: string | null): void {
    one.state = state;
    this.#close(one, resolution);
    this.#change(`${state} ${one.id}`);
  }

  #close(one: ModelNotification, resolution: string | null): void {
    if (one.status === 'active') one.status = 'resolved';
    one.isResolved = true;
    one.resolution = resolution;
  }

  #change(event: string): void {
    this.events.push(event);
    this.revision += 1;
  }
}
