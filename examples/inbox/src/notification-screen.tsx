import { useNotification } from '@workspace-account/react';
import { Heading } from './heading.tsx';
import { Empty, Loaded } from './loaded.tsx';
import { NotificationCard } from './notification-card.tsx';

/** One notification, to which messages link. */
export function NotificationScreen({ id }: { id: string }) {
  const { notification, ...loading } = useNotification(id);
  return (
    <>
      <Heading title="Notification" />
      <Loaded of={loading} isMissing={notification === undefined}>
        {notification === null && (
          <Empty icon="inbox" title="Not found" text="It was deleted, or is not yours." />
        )}
        {notification && <NotificationCard notification={notification} />}
      </Loaded>
    </>
  );
}
