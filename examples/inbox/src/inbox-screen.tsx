import type { NotificationFilter } from '@workspace-account/client';
import { useCounts, useInbox, useInboxClient } from '@workspace-account/react';
import { Button } from './controls.tsx';
import { useReport } from './failure.tsx';
import { Heading } from './heading.tsx';
import { Empty, Loaded } from './loaded.tsx';
import { ListCard } from './notification-card.tsx';
import { useStaying } from './use-staying.ts';

type Tab = { name: string; filter: NotificationFilter; count?: 'total' | 'openRequests'; empty: string };

const ACTIVE: Tab = {
  name: 'Active',
  filter: { statuses: ['ACTIVE'] },
  count: 'total',
  empty: 'All caught up',
};
const TABS: Readonly<Record<string, Tab>> = {
  active: ACTIVE,
  waiting: {
    name: 'Waiting for you',
    filter: { requestStates: ['OPEN'] },
    count: 'openRequests',
    empty: 'Nothing waits for you',
  },
  all: { name: 'All', filter: {}, empty: 'No notifications yet' },
};

/** The notifications of a tab. */
export function InboxScreen({ tab }: { tab: string }) {
  const { counts } = useCounts();
  const { dismissAll } = useInboxClient();
  const report = useReport();
  const shown = TABS[tab] ?? ACTIVE;
  return (
    <>
      <Heading title="Inbox">
        {shown === ACTIVE && counts !== undefined && counts.total > 1 && (
          <Button className="quiet" onClick={() => report(dismissAll())}>
            Dismiss all
          </Button>
        )}
      </Heading>
      <nav className="tabs" aria-label="Notifications">
        {Object.entries(TABS).map(([to, { name, count }]) => (
          <a key={to} href={`#/inbox/${to}`} aria-current={TABS[to] === shown ? 'page' : undefined}>
            {name} {counts && count && <span className="count">{counts[count]}</span>}
          </a>
        ))}
      </nav>
      <List key={tab} tab={shown} />
    </>
  );
}

function List({ tab: { filter, empty } }: { tab: Tab }) {
  const inbox = useInbox(filter);
  const cards = useStaying(inbox.notifications);
  return (
    <Loaded of={inbox} isMissing={cards === undefined}>
      <div className="cards">
        {cards?.map((card) => (
          <ListCard key={card.notification.id} {...card} />
        ))}
      </div>
      {cards?.length === 0 && (
        <Empty icon="check" title={empty} text="Plans, questions and results appear here as they arrive." />
      )}
    </Loaded>
  );
}
