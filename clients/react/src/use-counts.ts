import type { Counts } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type Loading, useResource } from './use-resource.ts';

/** The numbers of active notifications and of open requests. */
export type UseCounts = Loading & {
  /** `undefined` until they are loaded. */
  readonly counts: Counts | undefined;
};

/** Returns the numbers of active notifications and of open requests, and keeps them up to date. */
export function useCounts(): UseCounts {
  const { counts } = useInboxClient();
  const { data, isLoading, error } = useResource(counts);
  return { counts: data, isLoading, error, reload: counts.reload };
}
