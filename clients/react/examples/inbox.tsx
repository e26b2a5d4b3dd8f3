import type { Inbox } from '@workspace-account/client';
import { InboxProvider, useInbox } from '@workspace-account/react';

/** The active notifications with buttons that dismiss them. */
function Notifications() {
  const { notifications = [], dismiss } = useInbox({ statuses: ['ACTIVE'] });
  return notifications.map(({ id, title }) => (
    <button type="button" key={id} onClick={() => dismiss(id)}>
      {title}
    </button>
  ));
}

/** Shows an inbox, which `createInbox` has created outside of components. */
export function App({ inbox }: { readonly inbox: Inbox }) {
  return (
    <InboxProvider inbox={inbox}>
      <Notifications />
    </InboxProvider>
  );
}
