import '@workspace-account/react/styles.css';
import type { Inbox as Client } from '@workspace-account/client';
import { de, Inbox, InboxLocale, InboxProvider } from '@workspace-account/react';

/** Shows an inbox in German, which `createInbox` has created outside of components. */
export function App({ inbox }: { readonly inbox: Client }) {
  return (
    <InboxProvider inbox={inbox}>
      <InboxLocale locale="de" texts={de}>
        <Inbox />
      </InboxLocale>
    </InboxProvider>
  );
}
