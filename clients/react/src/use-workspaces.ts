import type { WorkspaceCard, WorkspaceFilter } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type Loading, useResource } from './use-resource.ts';

/** A list of workspaces. */
export type UseWorkspaces = Loading & {
  /** Newest first. `undefined` until the first page is loaded. */
  readonly workspaces: readonly WorkspaceCard[] | undefined;
  readonly hasMore: boolean;
  /** Loads the next page. */
  loadMore(): Promise<void>;
};

/** Returns the workspaces that match a filter, by default all, and keeps them up to date. */
export function useWorkspaces(filter?: WorkspaceFilter): UseWorkspaces {
  const list = useInboxClient().workspaces(filter);
  const { data, isLoading, error } = useResource(list);
  return {
    workspaces: data?.workspaces,
    hasMore: data?.hasMore ?? false,
    isLoading,
    error,
    loadMore: list.loadMore,
    reload: list.reload,
  };
}
