import type { NotificationCard } from '@workspace-account/client';
import { type ComponentType, memo, type ReactNode, useState } from 'react';
import { flushSync } from 'react-dom';
import { useActions } from '../use-actions.ts';
import { useAnswer } from '../use-answer.ts';
import { useDeliveries } from '../use-deliveries.ts';
import { useNotification } from '../use-notification.ts';
import { AnswerSection } from './answer-section.tsx';
import { Content, PlanChanges } from './content.tsx';
import { Button, Icon, iconOfKind } from './controls.tsx';
import { Loaded } from './loaded.tsx';
import { useMessages, useReport } from './messages.tsx';
import { Time, useTexts } from './texts.tsx';

type Slot = ComponentType<{ notification: NotificationCard; children?: ReactNode }>;

/** Components that replace or add parts of a card. */
export type CardSlots = {
  /** Replaces the whole card, which it has as `children`. */
  readonly card?: Slot;
  /** Replaces what the notification contains, which it has as `children`. The form that answers it is below. */
  readonly content?: Slot;
  /** Is added to the links below. */
  readonly foot?: Slot;
};

type CardProps = {
  notification: NotificationCard;
  /** Whether the list has it. If it has left, the card shows what became of it. */
  isListed?: boolean;
  slots?: CardSlots | undefined;
  level: 1 | 2;
  isSelected?: boolean;
  /** Without it, the card cannot be selected. */
  select?: ((id: string, isSelected: boolean) => void) | undefined;
};

/** Without a slot, only the children. */
const Children: Slot = ({ children }) => children;

/** Shows a notification of any kind, with what the user can do. */
export const Card = memo(function Card({
  notification: listed,
  isListed = true,
  slots = {},
  ...props
}: CardProps) {
  const { notification = listed } = useNotification(isListed ? undefined : listed.id);
  const { card: Outer = Children, content: Inner = Children, foot: Foot } = slots;
  if (notification === null) return null;
  return (
    <Outer notification={notification}>
      <Frame notification={notification} {...props} foot={Foot && <Foot notification={notification} />}>
        <Inner notification={notification}>
          <Content notification={notification} />
        </Inner>
      </Frame>
    </Outer>
  );
});

/** The ID of the element with a notification's title. */
const titleId = (id: string) => `wa-title-${id}`;

type FrameProps = Omit<CardProps, 'isListed' | 'slots'> & { foot: ReactNode; children: ReactNode };

function Frame({ notification, level, isSelected = false, select, foot, children }: FrameProps) {
  const { t, nameKind, describeStatus } = useTexts();
  const { id, kind, title, status, task, projectName, createdAt, request, prUrl, projectRepoUrl } =
    notification;
  const answering = useAnswer(notification);
  // A plan that the user only scrolls past is not compared.
  const [wasReady, setWasReady] = useState(answering.isReady);
  if (answering.isReady && !wasReady) setWasReady(true);
  const Title = level === 1 ? 'h2' : 'h3';
  const shownStatus = describeStatus(notification);
  return (
    <article className="wa-card" data-kind={kind} data-selected={isSelected} aria-labelledby={titleId(id)}>
      <span className="wa-card-icon">
        <Icon name={iconOfKind(kind)} />
      </span>
      <div className="wa-card-head">
        <p className="wa-meta">
          <span className="wa-kind">{nameKind(kind)}</span>
          <span dir="auto">{projectName ?? task.projectId}</span>
          <Time at={createdAt} />
          {shownStatus && (
            <span className={request?.state === 'OPEN' ? 'wa-waiting' : ''}>{shownStatus}</span>
          )}
        </p>
        <Title id={titleId(id)} className="wa-card-title" tabIndex={-1} dir="auto">
          {title}
        </Title>
      </div>
      <div className="wa-card-tools">
        {select && status === 'ACTIVE' && (
          <input
            type="checkbox"
            className="wa-select"
            aria-label={t('select', { title })}
            checked={isSelected}
            onChange={({ target }) => select(id, target.checked)}
          />
        )}
        <StatusButton notification={notification} />
      </div>
      <div className="wa-card-body">
        {children}
        {request && <AnswerSection notification={notification} request={request} answering={answering} />}
        <div className="wa-card-foot">
          {wasReady && <PlanChanges notification={notification} />}
          {prUrl && <a href={prUrl}>{t('pullRequest')}</a>}
          {projectRepoUrl && <a href={projectRepoUrl}>{t('repository')}</a>}
          {foot}
          <Deliveries id={id} />
        </div>
      </div>
    </article>
  );
}

/** Dismisses an active notification, and restores a dismissed one. */
function StatusButton({ notification: { id, title, status } }: { notification: NotificationCard }) {
  const { t } = useTexts();
  const { dismiss, restore } = useActions();
  const { show } = useMessages();
  const report = useReport();
  const handleRestore = () => report(restore(id));
  const undo = () => {
    // The card is back at once, unless the user has left its list.
    flushSync(() => void handleRestore());
    document.getElementById(titleId(id))?.focus();
  };
  const handleDismiss = (button: Element) => {
    focusNeighbor(button);
    show({ text: t('dismissedTitle', { title }), undo });
    void report(dismiss(id));
  };
  if (status === 'DISMISSED')
    return <Button label={t('restore')} className="wa-quiet" onClick={() => void handleRestore()} />;
  if (status !== 'ACTIVE') return null;
  return (
    <Button
      label={t('dismissTitle', { title })}
      icon="x"
      className="wa-dismiss"
      onClick={({ currentTarget }) => handleDismiss(currentTarget)}
    />
  );
}

/** Moves the focus to the card after, or before, the one that vanishes. */
function focusNeighbor(button: Element): void {
  const inbox = button.closest('.wa-inbox');
  const cards = [...(inbox?.querySelectorAll('.wa-card') ?? [])];
  const place = cards.findIndex((card) => card.contains(button));
  const next = cards[place + 1] ?? cards[place - 1] ?? inbox;
  next?.querySelector<HTMLElement>('.wa-card-title, .wa-title')?.focus();
}

/** Shows which messages were sent about a notification. Loads them when the user asks. */
function Deliveries({ id }: { id: string }) {
  const { t, name } = useTexts();
  const [isOpen, setIsOpen] = useState(false);
  const { deliveries, ...loading } = useDeliveries(isOpen ? id : undefined);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{t('messagesSent')}</summary>
      <Loaded of={loading} isMissing={false}>
        {deliveries?.length === 0 && <p>{t('noMessages')}</p>}
        {deliveries?.map(({ ref, channel, state, reason, deliveredAt }) => (
          <p key={ref}>
            <strong>{name(channel)}</strong> {name(state, 'delivery')}
            {reason && `: ${name(reason, 'reason')}`} {deliveredAt && <Time at={deliveredAt} />}
          </p>
        ))}
      </Loaded>
    </details>
  );
}
