import type { Store } from './inbox-types.ts';

/** The listeners of a store. */
export class Listeners {
  readonly #listeners = new Set<() => void>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Adds a listener, as often as it is added, and returns a function that removes it. */
  add(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** A store of one value. */
export class Observable<State> implements Store<State> {
  readonly #listeners = new Listeners();
  #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  readonly get = (): State => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => this.#listeners.add(listener);

  /** Replaces the value, and calls all listeners. */
  set(state: State): void {
    this.#state = state;
    this.#listeners.notify();
  }
}
