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
const getLoading = () => LOADING;

const NOTHING = { data: undefined, isLoading: false, error: undefined } as const;
const getNothing = () => NOTHING;

/** A resource that has no data and loads nothing. */
export const nothing: Resource<never> = {
  get: getNothing,
  subscribe: () => () => undefined,
  reload: () => Promise.resolve(),
};

/** Returns the state of a resource and follows it while the component is mounted. Servers render it as loading. */
export function useResource<Data>(resource: Resource<Data>): Loadable<Data> {
  const getServerState = resource === nothing ? getNothing : getLoading;
  const state = useSyncExternalStore<Loadable<Data>>(resource.subscribe, resource.get, getServerState);
  // It starts to load after the first render, which must not look like an empty result.
  const isNew = state !== NOTHING && state.data === undefined && state.error === undefined;
  return isNew ? LOADING : state;
}
