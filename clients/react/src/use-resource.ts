import type { GatewayError, Loadable, Resource } from '@workspace-account/client';
import { useSyncExternalStore } from 'react';

/** Whether data is loading, and why it last failed to. */
export type Loading = {
  readonly isLoading: boolean;
  /** Why the last load failed. During `isLoading`, it is tried again at `retryAt`. */
  readonly error: GatewayError | undefined;
  /** Loads the data again. */
  reload(): Promise<void>;
};

const LOADING = { data: undefined, isLoading: true, error: undefined } as const;

const NOTHING = { data: undefined, isLoading: false, error: undefined } as const;
const getNothing = () => NOTHING;

/** A resource that has no data and loads nothing. */
export const nothing: Resource<never> = {
  getInitial: getNothing,
  get: getNothing,
  subscribe: () => () => undefined,
  reload: () => Promise.resolve(),
};

/**
 * Returns the state of a resource and follows it while the component is mounted. Servers render it as the inbox's
 * `initialData` has it, otherwise as loading.
 */
export function useResource<Data>(resource: Resource<Data>): Loadable<Data> {
  return useStateOf(resource, resource.getInitial);
}

function useStateOf<Data>(resource: Resource<Data>, getServerState: () => Loadable<Data>): Loadable<Data> {
  const state = useSyncExternalStore<Loadable<Data>>(resource.subscribe, resource.get, getServerState);
  // It starts to load after the first render, which must not look like an empty result.
  const isNew = state !== NOTHING && state.data === undefined && state.error === undefined;
  return isNew ? LOADING : state;
}

/** Loads on behalf of suspended components, which cannot subscribe. */
const loads = new WeakMap<Resource<unknown>, Promise<void>>();

/** A component subscribes so long after its data was loaded, at the latest. */
const LINGER_MS = 1000;

/** Waits until a resource has data, or its load has failed. */
function load(resource: Resource<unknown>): Promise<void> {
  // A server follows no events.
  if (typeof window === 'undefined') return resource.reload();
  const loading =
    loads.get(resource) ??
    new Promise<void>((resolve) => {
      const end = resource.subscribe(check);
      function check(): void {
        const { data, isLoading, error } = resource.get();
        if (data === undefined && (isLoading || error === undefined)) return;
        if (loads.delete(resource)) setTimeout(end, LINGER_MS);
        resolve();
      }
    });
  loads.set(resource, loading);
  return loading;
}

/** Suspends the component until a resource has data. @throws {GatewayError} to an error boundary, if it cannot be loaded */
export function useSuspended<Data>(resource: Resource<Data>): Data {
  const { data, isLoading, error } = useStateOf(resource, () => {
    const initial = resource.getInitial();
    return initial.data === undefined ? resource.get() : initial;
  });
  if (data !== undefined) return data;
  if (error !== undefined && !isLoading) throw error;
  throw load(resource);
}
