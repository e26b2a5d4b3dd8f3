import { useNotification } from '../use-notification.ts';
import { Card, type CardSlots } from './card.tsx';
import { Empty, Loaded } from './loaded.tsx';
import { WithMessages } from './messages.tsx';
import { useTexts } from './texts.tsx';

/** What an {@link InboxNotification} shows. */
export type InboxNotificationProps = {
  readonly id: string;
  readonly level?: 1 | 2;
  readonly slots?: CardSlots;
};

/** Shows one notification, whatever its status: for the page to which emails and push messages link. */
export function InboxNotification({ id, level = 1, slots }: InboxNotificationProps) {
  const { t } = useTexts();
  const { notification, ...loading } = useNotification(id);
  return (
    <WithMessages>
      <div className="wa">
        <Loaded of={loading} isMissing={notification === undefined}>
          {notification && <Card notification={notification} level={level} slots={slots} />}
          {notification === null && <Empty icon="bell" title={t('notFound')} text={t('notFoundHint')} />}
        </Loaded>
      </div>
    </WithMessages>
  );
}
