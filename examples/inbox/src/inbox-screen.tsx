import type { NotificationCard as Card, NotificationFilter } from '@workspace-account/client';
import { useCounts, useInbox, useInboxClient, useStaying } from '@workspace-account/react';
import { useEffect } from 'react';
import { Button, leaving, useReport } from './controls.tsx';
import { NotificationCard } from './notification-card.tsx';
import { Empty, Loaded, Screen } from './screen.tsx';

type Tab = { to: string; name: string; filter: NotificationFilter; count?: 'total' | 'openRequests' };

const ACTIVE: Tab = { to: 'active', name: 'Active', filter: { statuses: ['ACTIVE'] }, count: 'total' };
const TABS: readonly Tab[] = [
  ACTIVE,
  { to: 'waiting', name: 'Waiting for you', filter: { requestStates: ['OPEN'] }, count: 'openRequests' },
  { to: 'all', name: 'All', filter: {} },
];
const EMPTY: Readonly<Record<string, string>> = { active: 'All caught up', waiting: 'Nothing waits for you' };

/** The notifications of a tab. */
export function InboxScreen({ tab }: { tab: string }) {
  const { counts } = useCounts();
  const { dismissAll } = useInboxClient();
  const report = useReport();
  const shown = TABS.find(({ to }) => to === tab) ?? ACTIVE;
  const dismissButton = shown === ACTIVE && counts !== undefined && counts.total > 1 && (
    <Button label="Dismiss all" className="quiet" onClick={leaving(() => report(dismissAll()))} />
  );
  return (
    <Screen title="Inbox" action={dismissButton}>
      <nav className="tabs" aria-label="Notifications">
        {TABS.map(({ to, name, count }) => (
          <a key={to} href={`#/inbox/${to}`} aria-current={to === shown.to ? 'page' : undefined}>
            {name} {counts && count && <span className="count">{counts[count]}</span>}
          </a>
        ))}
      </nav>
      <List key={shown.to} tab={shown} />
    </Screen>
  );
}

function List({ tab: { to, filter } }: { tab: Tab }) {
  const inbox = useInbox(filter);
  const cards = useStaying(inbox.notifications);
  const isListed = (card: Card) => inbox.notifications?.includes(card) ?? false;
  const { notifications, hasMore, isLoading, error, loadMore } = inbox;
  const isMissingMore = notifications?.length === 0 && hasMore;
  useEffect(() => {
    if (isMissingMore && !isLoading && !error) void loadMore();
  }, [isMissingMore, isLoading, error, loadMore]);
  return (
    <Loaded of={inbox} isMissing={cards === undefined}>
      <div className="cards">
        {cards?.map((card) => (
          <NotificationCard key={card.id} notification={card} isListed={isListed(card)} />
        ))}
      </div>
      {cards?.length === 0 && !isMissingMore && (
        <Empty icon="check" title={EMPTY[to] ?? 'No notifications yet'} text="They appear as they arrive." />
      )}
    </Loaded>
  );
}
