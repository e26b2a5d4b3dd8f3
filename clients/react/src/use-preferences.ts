import type { Inbox, Preference } from '@workspace-account/client';
import { useInboxClient } from './inbox-provider.tsx';
import { type Loading, useResource } from './use-resource.ts';

/** The channels of each kind of notification. */
export type UsePreferences = Loading & {
  /** One for each kind. `undefined` until they are loaded. */
  readonly preferences: readonly Preference[] | undefined;
  /** Changes some of them. Shows at once, and is rolled back if the gateway refuses it. */
  update: Inbox['updatePreferences'];
};

/** Returns the channels of each kind of notification. Requires a token that names an organization. */
export function usePreferences(): UsePreferences {
  const { preferences, updatePreferences } = useInboxClient();
  const { data, isLoading, error } = useResource(preferences);
  return { preferences: data, isLoading, error, update: updatePreferences, reload: preferences.reload };
}
