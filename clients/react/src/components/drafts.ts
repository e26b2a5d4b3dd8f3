import type { Inbox } from '@workspace-account/client';
import { useInboxClient } from '../inbox-provider.tsx';

/** What a user has typed into the form of a notification, and not sent. */
export type Draft = {
  readonly decision?: 'REQUEST_CHANGES' | 'REJECT' | undefined;
  readonly fields?: readonly (readonly [string, string])[];
};

/** In memory: nobody who signs in later in this tab sees them. */
const drafts = new WeakMap<Inbox, Map<string, Draft>>();

/** Returns the draft of a notification, which survives that the user looks at something else meanwhile. */
export function useDraft(id: string) {
  const inbox = useInboxClient();
  const stored = drafts.get(inbox) ?? new Map<string, Draft>();
  drafts.set(inbox, stored);
  return {
    get: () => stored.get(id) ?? {},
    keep: (change: Draft) => void stored.set(id, { ...stored.get(id), ...change }),
    keepFields: (fields: FormData) => {
      const entries = [...fields].map(([name, value]) => [name, String(value)] as const);
      stored.set(id, { ...stored.get(id), fields: entries });
    },
    forget: () => void stored.delete(id),
    /** The text of a field. */
    read: (name: string) => stored.get(id)?.fields?.find(([one]) => one === name)?.[1],
    /** Whether an option is chosen. */
    has: (name: string, value: string) =>
      stored.get(id)?.fields?.some(([one, chosen]) => one === name && chosen === value) ?? false,
  };
}
