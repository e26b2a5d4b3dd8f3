import type { NotificationCard } from '@workspace-account/client';
import { useState } from 'react';
import { useInboxClient } from './inbox-provider.tsx';

type Listed = readonly NotificationCard[] | undefined;

/**
 * Returns the notifications of a list, and those that have left it since the component was mounted, such as answered and
 * superseded ones, in their places: no card vanishes under the user who is answering it. Dismissed ones leave, and those
 * of which it is not known what became of them. {@link useNotification} returns the state of one that has left the list.
 * Give the component a `key` that changes when the user moves on.
 */
export function useStaying(listed: Listed): Listed {
  const inbox = useInboxClient();
  const [before, setBefore] = useState<{ listed?: Listed; staying?: Listed }>({});
  if (before.listed === listed) return before.staying;
  const stays = (id: string) => {
    const status = inbox.notification(id).get().data?.status;
    return status !== undefined && status !== 'DISMISSED';
  };
  const ids = new Set(listed?.map(({ id }) => id));
  const left = before.staying?.filter(({ id }) => !ids.has(id) && stays(id)) ?? [];
  // After a change of the account nothing is listed yet, and nothing stays.
  const staying = listed && left.length > 0 ? [...listed, ...left].sort(byCreation) : listed;
  setBefore({ listed, staying });
  return staying;
}

/** Timestamps have one format, so they compare like strings. */
const byCreation = ({ createdAt: one }: NotificationCard, { createdAt: other }: NotificationCard) =>
  one === other ? 0 : one < other ? 1 : -1;
