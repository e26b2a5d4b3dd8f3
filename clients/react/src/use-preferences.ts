import type { NotificationPreferenceInput, Preference } from '@workspace-account/client';
import { useCallback } from 'react';
import { useInboxClient } from './inbox-provider.tsx';
import { type Changed, type Changing, useChange } from './use-change.ts';
import { type Loading, useResource } from './use-resource.ts';

/** The channels of each kind of notification. */
export type UsePreferences = Loading &
  Changing & {
    /** One for each kind. `undefined` until they are loaded. */
    readonly preferences: readonly Preference[] | undefined;
    /** Changes some of them. Shows at once, and is rolled back if the gateway refuses it. The promise does not reject. */
    update(changes: readonly NotificationPreferenceInput[]): Promise<Changed<void>>;
  };

/** Returns the channels of each kind of notification. Requires a token that names an organization. */
export function usePreferences(): UsePreferences {
  const { preferences, updatePreferences } = useInboxClient();
  const { data, isLoading, error } = useResource(preferences);
  const { change, track } = useChange();
  const update = useCallback<UsePreferences['update']>(
    (changes) => track(updatePreferences(changes)),
    [track, updatePreferences],
  );
  return { preferences: data, isLoading, error, update, change, reload: preferences.reload };
}
