import type { AccountEvent } from './account-events.ts';
import { type Change, showChanges } from './changes.ts';
import { toGatewayError } from './gateway-error.ts';
import { mutationDelay, retry } from './retries.ts';
import type { AccountSession } from './session.ts';
import { applyEvent, countChanges, emptyState, forgetUnused, type Sent, type State } from './state.ts';

/** Makes of a state what a reply changes. */
type Apply<Data> = (state: State, data: Data, sent: Sent) => State;

/** The state of an account, with the changes that are not confirmed yet. */
export class AccountStore {
  readonly #session: Pick<AccountSession, 'signal'>;
  readonly #onChange: () => void;
  #state: State;
  #shown: State;
  #changes: readonly Change[] = [];
  /** The number of queries without a reply. */
  #queries = 0;
  /** The last mutation of each key. */
  readonly #queues = new Map<string, Promise<unknown>>();

  constructor(session: Pick<AccountSession, 'signal'>, onChange: () => void, initial: State = emptyState) {
    this.#session = session;
    this.#state = initial;
    this.#shown = initial;
    this.#onChange = onChange;
  }

  /** The state without pending changes. */
  get known(): State {
    return this.#state;
  }

  /** The state with pending changes. */
  get shown(): State {
    return this.#shown;
  }

  /** Changes the state. */
  update(change: (state: State) => State): void {
    this.#set(change(this.#state), this.#changes);
  }

  /** Applies events. */
  receive(events: readonly AccountEvent[]): void {
    const apply = (state: State, event: AccountEvent) => this.#keepCounts(state, applyEvent(state, event));
    this.#set(events.reduce(apply, this.#state), this.#changes);
  }

  /** Forgets what nobody uses, unless a reply is pending: it may be older than what would be forgotten. */
  forgetUnused(isUsed: (key: string) => boolean, kept?: number): void {
    if (this.#queries > 0 || this.#changes.length > 0) return;
    this.update((state) => forgetUnused(state, isUsed, kept));
  }

  /** Forgets everything. */
  clear(): void {
    this.#queues.clear();
    this.#set(emptyState, []);
  }

  /** Sends a query once, and applies the reply. @throws {GatewayError} */
  async query<Data>(
    send: (signal: AbortSignal) => Promise<Data>,
    apply: Apply<Data>,
    signal: AbortSignal,
  ): Promise<void> {
    const since = this.#state.arrivals;
    this.#queries += 1;
    try {
      const data = await send(signal);
      signal.throwIfAborted();
      this.update((state) => apply(state, data, { since }));
    } finally {
      this.#queries -= 1;
    }
  }

  /**
   * Shows a change at once and sends it. The reply, or the refusal, replaces the change. Mutations with the same key, or
   * with one that contains it (`notifications` and `notifications/1`), are sent one after another, so that the gateway
   * executes them in the order in which the user made them.
   * @throws {GatewayError} why it was refused
   */
  async mutate<Data>(
    key: string,
    change: Change,
    send: (signal: AbortSignal) => Promise<Data>,
    apply: Apply<Data>,
  ): Promise<Data> {
    const { signal } = this.#session;
    const previous = [...this.#queues].filter(([other]) => overlaps(key, other)).map(([, sent]) => sent);
    this.#set(this.#state, [...this.#changes, change]);
    let since = 0;
    const attempt = () => {
      since = this.#state.arrivals;
      return send(signal);
    };
    const sending = (async () => {
      await Promise.allSettled(previous);
      return retry(attempt, mutationDelay, signal);
    })();
    this.#queues.set(key, sending);
    try {
      const data = await sending;
      signal.throwIfAborted();
      this.#set(apply(this.#state, data, { since }), this.#without(change));
      return data;
    } catch (error) {
      this.#set(this.#state, this.#without(change));
      throw toGatewayError(error);
    } finally {
      if (this.#queues.get(key) === sending) this.#queues.delete(key);
    }
  }

  /** Keeps the shown counts after an event until the next ones arrive, also if the event is that of a pending change. */
  #keepCounts(before: State, after: State): State {
    const { counts } = after;
    const isCounted = counts === undefined || counts.value !== before.counts?.value;
    if (isCounted || this.#changes.length === 0) return after;
    const shown = countChanges(counts.value, before, showChanges(before, this.#changes));
    const value = countChanges(shown, showChanges(after, this.#changes), after);
    return { ...after, counts: { ...counts, value } };
  }

  #without(change: Change): readonly Change[] {
    return this.#changes.filter((other) => other !== change);
  }

  #set(state: State, changes: readonly Change[]): void {
    if (state === this.#state && changes.length === 0 && this.#changes.length === 0) return;
    this.#state = state;
    this.#changes = changes;
    this.#shown = showChanges(state, changes);
    this.#onChange();
  }
}

const overlaps = (one: string, other: string) =>
  one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`);
