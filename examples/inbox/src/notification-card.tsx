import { type NotificationCard as Card, isKnownNotification } from '@workspace-account/client';
import { useInboxClient, useNotification } from '@workspace-account/react';
import { useId } from 'react';
import { AnswerSection } from './answer-section.tsx';
import { Button, Icon } from './controls.tsx';
import { Deliveries } from './deliveries.tsx';
import { useReport } from './failure.tsx';
import { LongText } from './long-text.tsx';
import { describeKind, describeStatus } from './texts.ts';
import { Time } from './time.tsx';
import { useToast } from './toasts.tsx';
import type { Staying } from './use-staying.ts';

/** A card of a list. If it has left the list, it shows what became of it. */
export function ListCard({ notification: listed, isListed }: Staying) {
  const { notification = listed } = useNotification(isListed ? undefined : listed.id);
  return notification && <NotificationCard notification={notification} />;
}

/** Shows a notification of any kind, with what the user can do about it. */
export function NotificationCard({ notification }: { notification: Card }) {
  const { id, kind, title, task, projectName, createdAt, request, prUrl, projectRepoUrl } = notification;
  const { name, icon } = describeKind(kind);
  const status = describeStatus(notification);
  const titleId = useId();
  return (
    <article className="card notification" data-kind={kind} aria-labelledby={titleId}>
      <span className="card-icon">
        <Icon name={icon} />
      </span>
      <div className="card-head">
        <p className="meta">
          <span className="kind">{name}</span>
          <span>{projectName ?? task.projectId}</span>
          <Time at={createdAt} />
          {status && <span className={request?.state === 'OPEN' ? 'waiting' : undefined}>{status}</span>}
        </p>
        <h2 id={titleId}>
          <a href={`#/notifications/${encodeURIComponent(id)}`}>{title}</a>
        </h2>
      </div>
      <StatusButton notification={notification} />
      <div className="card-body">
        <Content notification={notification} />
        {request && <AnswerSection notification={notification} request={request} />}
        <div className="card-foot">
          {prUrl && <a href={prUrl}>Pull request</a>}
          {projectRepoUrl && <a href={projectRepoUrl}>Repository</a>}
          <Deliveries id={id} />
        </div>
      </div>
    </article>
  );
}

/** The content of each kind; of kinds that later versions of the gateway add, the preview. */
function Content({ notification }: { notification: Card }) {
  if (!isKnownNotification(notification)) return <LongText text={notification.previewText} />;
  switch (notification.__typename) {
    case 'PlanRequestedNotification':
      return <LongText lead={notification.payload.summary} text={notification.payload.plan} />;
    case 'TaskFailedNotification':
    case 'TaskResponseReadyNotification':
      return <LongText lead={notification.payload.messageLabel} text={notification.payload.message} />;
    case 'QuestionRequestedNotification':
      return null;
  }
}

/** Dismisses an active notification, and restores a dismissed one. */
function StatusButton({ notification: { id, title, status } }: { notification: Card }) {
  const { dismiss, restore } = useInboxClient();
  const showToast = useToast();
  const report = useReport();
  const undo = () => report(restore(id));
  const handleDismiss = (button: Element) => {
    // The focus goes to the card after, or before, the one that vanishes.
    const card = button.closest('.card');
    const next = card?.nextElementSibling ?? card?.previousElementSibling ?? document;
    next.querySelector<HTMLElement>('h2 a, h1')?.focus();
    showToast({ text: `Dismissed: ${title}`, undo });
    void report(dismiss(id));
  };
  if (status === 'DISMISSED')
    return (
      <Button className="quiet" onClick={undo}>
        Restore
      </Button>
    );
  if (status !== 'ACTIVE') return null;
  const name = `Dismiss: ${title}`;
  return (
    <Button className="icon-button" title={name} onClick={(event) => handleDismiss(event.currentTarget)}>
      <Icon name="x" />
    </Button>
  );
}
