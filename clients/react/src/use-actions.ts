import type { Dismissal, Inbox } from '@workspace-account/client';
import { useMemo } from 'react';
import { useInboxClient } from './inbox-provider.tsx';
import { type Changed, type Changing, useChange } from './use-change.ts';

/** What a user can do with notifications. The promises do not reject: `change.error` has the reason of a failure. */
export type NotificationActions = Changing & {
  dismiss(id: string): Promise<Changed<void>>;
  /** Undoes a dismissal. */
  restore(id: string): Promise<Changed<void>>;
  /** Dismisses what the user has seen of the active notifications; open requests only if `openRequests` is true. */
  dismissAll(filter?: Parameters<Inbox['dismissAll']>[0]): Promise<Changed<Dismissal>>;
  dismissMany(ids: readonly string[]): Promise<Changed<Dismissal>>;
};

/** Returns functions that dismiss and restore notifications, and the progress of the latest. */
export function useActions(): NotificationActions {
  const inbox = useInboxClient();
  const { change, track } = useChange();
  const actions = useMemo(
    (): Omit<NotificationActions, 'change'> => ({
      dismiss: (id) => track(inbox.dismiss(id)),
      restore: (id) => track(inbox.restore(id)),
      dismissAll: (filter) => track(inbox.dismissAll(filter)),
      dismissMany: (ids) => track(inbox.dismissMany(ids)),
    }),
    [inbox, track],
  );
  return { ...actions, change };
}
