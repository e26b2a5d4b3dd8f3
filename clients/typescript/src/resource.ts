import { type GatewayError, toGatewayError } from './gateway-error.ts';
import type { Loadable, Resource } from './inbox-types.ts';
import { Listeners } from './observable.ts';
import { retry, shownQueryDelay } from './retries.ts';

/** Where the data of a resource comes from. */
export type Source<Shown, Data> = {
  /** Returns the data as shown, or undefined if it was not loaded. */
  select(shown: Shown): Data | undefined;
  /** Whether events have kept the data up to date although it was not loaded for this resource. */
  isFresh?(shown: Shown): boolean;
  /** Queries the gateway, and applies the reply. @throws {GatewayError} */
  load(signal: AbortSignal): Promise<void>;
};

/** What resources share. */
export type ResourceContext<Shown> = {
  /** Returns the current state, with pending changes. */
  shown(): Shown;
  /** The state at the beginning. */
  readonly initial: Shown;
  /** Aborted when the account changes. */
  signal(): AbortSignal;
  /** Keeps the stream of events open until the returned function is called. */
  hold(): () => void;
  /** Resolves when events arrive, or are not to be waited for. */
  follows(): Promise<void>;
  /** Whether events arrive. */
  isLive(): boolean;
  /** Ends waits for another attempt. */
  readonly waker: Listeners;
  /** Whether events change the data. If not, it is outdated as soon as nobody subscribes. */
  readonly hasEvents: boolean;
};

/** A resource, and what the inbox does with it. */
export type ManagedResource<Data> = Resource<Data> & {
  /** Whether there is a subscriber, or something is loading. */
  isUsed(): boolean;
  /** Calls the listeners if what they see has changed. */
  refresh(): void;
  /** Marks what was loaded as outdated, and loads it again if there is a subscriber. */
  invalidate(): void;
  /** Loads what is outdated and not loading, if there is a subscriber. */
  resume(): void;
  /** Loads again if the last load failed. */
  retry(): void;
  /** Loads something else than the whole, unless something is loading. Waits for either. */
  loadPart(load: Source<unknown, Data>['load']): Promise<void>;
};

/** Creates a resource, which requests nothing before it has a subscriber. */
export function createResource<Shown, Data>(
  context: ResourceContext<Shown>,
  source: Source<Shown, Data>,
): ManagedResource<Data> {
  const listeners = new Listeners();
  let snapshot: Loadable<Data> = { data: undefined, isLoading: false, error: undefined };
  let selectedFrom: Shown | undefined;
  let isOutdated = true;
  let loading: { readonly controller: AbortController; readonly done: Promise<void> } | undefined;
  let release: (() => void) | undefined;

  function change(changes: Partial<Loadable<Data>>): void {
    snapshot = { ...snapshot, ...changes };
    listeners.notify();
  }

  /** Selects the data again if the state is another one. Returns whether it differs. */
  function select(): boolean {
    const shown = context.shown();
    if (shown === selectedFrom) return false;
    selectedFrom = shown;
    const data = source.select(shown);
    if (isSame(data, snapshot.data)) return false;
    snapshot = { ...snapshot, data };
    return true;
  }

  function start(load: Source<Shown, Data>['load'], isWhole: boolean): Promise<void> {
    loading?.controller.abort();
    const controller = new AbortController();
    const done = run(load, isWhole, controller);
    loading = { controller, done };
    if (!snapshot.isLoading) change({ isLoading: true });
    return done;
  }

  async function run(
    load: Source<Shown, Data>['load'],
    isWhole: boolean,
    { signal }: AbortController,
  ): Promise<void> {
    const either = AbortSignal.any([signal, context.signal()]);
    let error: GatewayError | undefined;
    try {
      if (release !== undefined) await context.follows();
      const delay = (failure: GatewayError, failures: number) =>
        listeners.size > 0 ? shownQueryDelay(failure, failures) : undefined;
      await retry(
        () => load(either),
        delay,
        either,
        (failure) => change({ error: failure }),
        context.waker,
      );
      if (isWhole) isOutdated = false;
    } catch (thrown) {
      error = toGatewayError(thrown);
    }
    if (signal.aborted) return;
    loading = undefined;
    select();
    change({ isLoading: false, error });
  }

  const reload = () => start(source.load, true);

  let initial: Loadable<Data> | undefined;

  return {
    getInitial() {
      if (initial === undefined) {
        const data = source.select(context.initial);
        initial = { data, isLoading: data === undefined, error: undefined };
      }
      return initial;
    },
    get() {
      select();
      return snapshot;
    },
    subscribe(listener) {
      const remove = listeners.add(listener);
      if (listeners.size === 1) {
        release = context.hold();
        // It may have been forgotten since it was loaded.
        if (source.select(context.shown()) === undefined) isOutdated = true;
        if (context.isLive() && source.isFresh?.(context.shown())) isOutdated = false;
        if (isOutdated && loading === undefined) void reload();
      }
      return () => {
        remove();
        if (listeners.size > 0) return;
        release?.();
        release = undefined;
        if (!context.hasEvents) isOutdated = true;
      };
    },
    reload,
    isUsed: () => listeners.size > 0 || loading !== undefined,
    refresh() {
      if (listeners.size > 0 && select()) listeners.notify();
    },
    invalidate() {
      isOutdated = true;
      if (listeners.size > 0) void reload();
      else if (loading !== undefined) {
        loading.controller.abort();
        loading = undefined;
        change({ isLoading: false });
      }
    },
    retry() {
      if (snapshot.error !== undefined && loading === undefined) void reload();
    },
    resume() {
      if (listeners.size > 0 && isOutdated && loading === undefined) void reload();
    },
    loadPart: (load) => loading?.done ?? start(load, false),
  };
}

/** Whether two values are equal, or have the same members or the same items in lists. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => {
    const [left, right] = [one[name], other[name]];
    return left === right || (Array.isArray(left) && Array.isArray(right) && hasSameItems(left, right));
  });
}

const hasSameItems = (one: readonly unknown[], other: readonly unknown[]) =>
  one.length === other.length && one.every((item, index) => item === other[index]);

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null;
}
