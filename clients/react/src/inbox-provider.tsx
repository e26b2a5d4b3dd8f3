import type { Inbox } from '@workspace-account/client';
import { createContext, type ReactNode, useContext } from 'react';

/** The inbox of the provider. */
export const InboxContext = createContext<Inbox | undefined>(undefined);

/** Provides an inbox to the hooks below it. Create the inbox outside of components, or once per sign-in. */
export function InboxProvider({ inbox, children }: { readonly inbox: Inbox; readonly children?: ReactNode }) {
  return <InboxContext.Provider value={inbox}>{children}</InboxContext.Provider>;
}

/**
 * Returns the inbox of the provider, for changes and requests of components that show none of its data.
 * @throws {Error} outside of an `InboxProvider`
 */
export function useInboxClient(): Inbox {
  const inbox = useContext(InboxContext);
  if (inbox === undefined)
    throw new Error('Hooks of @workspace-account/react require an <InboxProvider> above them.');
  return inbox;
}
