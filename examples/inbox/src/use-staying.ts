import type { NotificationCard } from '@workspace-account/client';
import { useInboxClient } from '@workspace-account/react';
import { useState } from 'react';

/** A notification that is, or was, in a list. */
export type Staying = { readonly notification: NotificationCard; readonly isListed: boolean };

/**
 * Keeps what leaves a list in place, so that a card does not vanish under the user who is answering it, unless it was
 * dismissed.
 */
export function useStaying(listed: readonly NotificationCard[] | undefined): readonly Staying[] | undefined {
  const inbox = useInboxClient();
  const [before, setBefore] = useState<{ listed?: typeof listed; staying?: readonly Staying[] }>({});
  if (listed === undefined || before.listed === listed) return before.staying;
  const ids = new Set(listed.map(({ id }) => id));
  const isDismissed = (id: string) => inbox.notification(id).get().data?.status === 'DISMISSED';
  const left = (before.staying ?? []).filter(({ notification: { id } }) => !ids.has(id) && !isDismissed(id));
  const staying = [
    ...listed.map((notification) => ({ notification, isListed: true })),
    ...left.map(({ notification }) => ({ notification, isListed: false })),
  ].sort((a, b) => Date.parse(b.notification.createdAt) - Date.parse(a.notification.createdAt));
  setBefore({ listed, staying });
  return staying;
}
