import { type NotificationCard as Card, isKnownNotification, listInput } from '@workspace-account/client';
import { useDeliveries, useInboxClient, useNotification } from '@workspace-account/react';
import { useState } from 'react';
import { flushSync } from 'react-dom';
import { AnswerSection } from './answer-section.tsx';
import { Button, Icon, useReport, useToast } from './controls.tsx';
import { Loaded } from './screen.tsx';
import { describeKind, describeStatus, Time, toWords } from './texts.tsx';

const MAX_LINES = 8;
const MAX_CHARACTERS = 700;

/** The ID of the element with a notification's title. */
const titleId = (id: string) => `title-${id}`;

type Props = { notification: Card; isListed: boolean };

/** Shows a notification of any kind, with what the user can do. If it has left the list, it shows what became of it. */
export function NotificationCard({ notification: listed, isListed }: Props) {
  const { notification = listed } = useNotification(isListed ? undefined : listed.id);
  if (notification === null) return null;
  const { id, kind, title, task, projectName, createdAt, request, prUrl, projectRepoUrl } = notification;
  const { name, icon } = describeKind(kind);
  const status = describeStatus(notification);
  return (
    <article className="card notification" data-kind={kind} aria-labelledby={titleId(id)}>
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
        <h2 id={titleId(id)} tabIndex={-1}>
          {title}
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
      return <Plan {...notification.payload} />;
    case 'TaskFailedNotification':
    case 'TaskResponseReadyNotification':
      return <LongText lead={notification.payload.messageLabel} text={notification.payload.message} />;
    case 'QuestionRequestedNotification':
      return null;
  }
}

type PlanProps = { summary: string; plan: string; input: unknown };

/** Shows everything that the user approves: the plan, and whatever else the task gave with it. */
function Plan({ summary, plan, input }: PlanProps) {
  const others = listInput(input).filter(({ name }) => name !== 'summary' && name !== 'plan');
  return (
    <>
      <LongText lead={summary} text={plan} />
      <dl className="input" hidden={others.length === 0}>
        {others.map(({ name, text }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <LongText text={text} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Dismisses an active notification, and restores a dismissed one. */
function StatusButton({ notification: { id, title, status } }: { notification: Card }) {
  const { dismiss, restore } = useInboxClient();
  const showToast = useToast();
  const report = useReport();
  const handleRestore = () => report(restore(id));
  const undo = () => {
    // The card is back at once, unless the user has left its list.
    flushSync(() => void handleRestore());
    document.getElementById(titleId(id))?.focus();
  };
  const handleDismiss = (button: Element) => {
    // The focus goes to the card after, or before, the one that vanishes.
    const card = button.closest('.card');
    const next = card?.nextElementSibling ?? card?.previousElementSibling ?? document;
    next.querySelector<HTMLElement>('h2, h1')?.focus();
    showToast({ text: `Dismissed: ${title}`, undo });
    void report(dismiss(id));
  };
  if (status === 'DISMISSED') return <Button label="Restore" className="quiet" onClick={handleRestore} />;
  if (status !== 'ACTIVE') return null;
  return (
    <Button label={`Dismiss: ${title}`} icon="x" onClick={(event) => handleDismiss(event.currentTarget)} />
  );
}

/** Shows a text with its line breaks, under a line that sums it up. A long one is cut until the user expands it. */
function LongText({ lead, text }: { lead?: string | null; text: string | null }) {
  const [isExpanded, setIsExpanded] = useState(false);
  const isLong = text !== null && (text.length > MAX_CHARACTERS || text.split('\n').length > MAX_LINES);
  return (
    <>
      {lead && <p className="lead">{lead}</p>}
      {text && <p className={isLong && !isExpanded ? 'text cut' : 'text'}>{text}</p>}
      {isLong && (
        <Button
          label={isExpanded ? 'Show less' : 'Show all'}
          className="quiet"
          aria-expanded={isExpanded}
          onClick={() => setIsExpanded(!isExpanded)}
        />
      )}
    </>
  );
}

/** Shows which messages were sent about a notification. Loads them when the user asks. */
function Deliveries({ id }: { id: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const { deliveries, ...loading } = useDeliveries(isOpen ? id : undefined);
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>Messages sent</summary>
      <Loaded of={loading} isMissing={false}>
        {deliveries?.length === 0 && <p>None.</p>}
        {deliveries?.map(({ ref, channel, state, reason, deliveredAt }) => (
          <p key={ref}>
            <strong>{toWords(channel.replace('_DM', ''))}</strong> {toWords(state).toLowerCase()}
            {reason && `: ${toWords(reason).toLowerCase()}`} {deliveredAt && <Time at={deliveredAt} />}
          </p>
        ))}
      </Loaded>
    </details>
  );
}
