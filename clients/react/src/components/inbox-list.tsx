import type { NotificationCard, NotificationFilter } from '@workspace-account/client';
import { type ComponentType, lazy, type ReactNode, Suspense, useEffect, useMemo } from 'react';
import { useInbox } from '../use-inbox.ts';
import { useStaying } from '../use-staying.ts';
import { Card, type CardSlots } from './card.tsx';
import { Empty, Loaded } from './loaded.tsx';
import { useTexts } from './texts.tsx';

/** From so many cards on, only those near the window are in the page. */
const VIRTUAL_FROM = 200;

// Few lists are so long.
const VirtualCards = lazy(async () => ({ default: (await import('./virtual-cards.tsx')).VirtualCards }));

/** The views of an inbox. */
export const VIEWS = ['active', 'waiting', 'all'] as const;
export type InboxView = (typeof VIEWS)[number];

const EMPTY = { active: 'emptyActive', waiting: 'emptyWaiting', all: 'emptyAll' } as const;

/** Components that replace or add parts of an inbox. */
export type InboxSlots = CardSlots & {
  /** Is shown if a view has no notifications. */
  readonly empty?: ComponentType<{ view: InboxView }>;
};

type Props = {
  view: InboxView;
  filter: NotificationFilter;
  isFiltered: boolean;
  level: 1 | 2;
  slots: InboxSlots;
  selected: ReadonlySet<string>;
  select(id: string, isSelected: boolean): void;
  /** Receives what is listed after each change. */
  onListed(cards: readonly NotificationCard[]): void;
};

/** The notifications of a view, with those that have left it since it was opened. */
export function InboxList({ view, filter, isFiltered, level, slots, selected, select, onListed }: Props) {
  const { t } = useTexts();
  const inbox = useInbox(filter);
  const { notifications, hasMore, isLoading, error, loadMore } = inbox;
  const cards = useStaying(notifications);
  const listed = useMemo(() => new Set(notifications), [notifications]);
  const ids = useMemo(() => cards?.map(({ id }) => id) ?? [], [cards]);
  useEffect(() => onListed(notifications ?? []), [notifications, onListed]);
  const isMissingMore = notifications?.length === 0 && hasMore;
  useEffect(() => {
    if (isMissingMore && !isLoading && !error) void loadMore();
  }, [isMissingMore, isLoading, error, loadMore]);

  const show = (card: NotificationCard) => (
    <Card
      key={card.id}
      notification={card}
      isListed={listed.has(card)}
      {...{ level, slots, select }}
      isSelected={selected.has(card.id)}
    />
  );
  const showAt = (index: number) => {
    const card = cards?.[index];
    return card && show(card);
  };
  const isLong = ids.length >= VIRTUAL_FROM;
  const EmptySlot = slots.empty;
  return (
    <Loaded of={inbox} isMissing={cards === undefined}>
      <div className="wa-cards">
        {isLong ? (
          <Suspense fallback={<FirstCards cards={cards} show={show} />}>
            <VirtualCards ids={ids} show={showAt} />
          </Suspense>
        ) : (
          cards?.map(show)
        )}
      </div>
      {cards?.length === 0 &&
        !isMissingMore &&
        (EmptySlot ? (
          <EmptySlot view={view} />
        ) : (
          <Empty icon="check" title={t(isFiltered ? 'emptyFiltered' : EMPTY[view])} text={t('emptyHint')} />
        ))}
    </Loaded>
  );
}

/** A component, so that cards are created only if it is shown. */
const FirstCards = ({
  cards,
  show,
}: {
  cards: readonly NotificationCard[] | undefined;
  show(card: NotificationCard): ReactNode;
}) => cards?.slice(0, VIRTUAL_FROM).map(show);
