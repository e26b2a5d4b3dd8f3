import { isKnownNotification, listInput, type NotificationCard } from '@workspace-account/client';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { useInboxClient } from '../inbox-provider.tsx';
import { nothing, useResource } from '../use-resource.ts';
import { Button } from './controls.tsx';
import { PlainText } from './plain-text.tsx';
import { useTexts } from './texts.tsx';

// Most notifications are no plans, and most plans are the first of their task.
const Markdown = lazy(async () => ({ default: (await import('./markdown.tsx')).Markdown }));
const Difference = lazy(async () => ({ default: (await import('./difference.tsx')).Difference }));

const MAX_LINES = 8;
const MAX_CHARACTERS = 700;

/** The content of each kind; of kinds that later versions of the gateway add, the preview. */
export function Content({ notification }: { notification: NotificationCard }) {
  if (!isKnownNotification(notification)) return <LongText text={notification.previewText} />;
  const isAnswerable = notification.request?.state === 'OPEN';
  switch (notification.__typename) {
    case 'PlanRequestedNotification':
      return <Plan {...notification.payload} isAnswerable={isAnswerable} />;
    case 'TaskFailedNotification':
    case 'TaskResponseReadyNotification': {
      const { messageLabel, message } = notification.payload;
      return <LongText lead={messageLabel} text={message} isWhole={isAnswerable} />;
    }
    case 'QuestionRequestedNotification':
      return null;
  }
}

type PlanProps = { summary: string; plan: string; input: unknown; isAnswerable: boolean };

/** Shows everything that the user approves: the plan, and whatever else the task gave with it. */
function Plan({ summary, plan, input, isAnswerable }: PlanProps) {
  const others = listInput(input).filter(({ name }) => name !== 'summary' && name !== 'plan');
  return (
    <>
      <LongText lead={summary} text={plan} isWhole={isAnswerable}>
        <Suspense fallback={<PlainText text={plan} />}>
          <Markdown text={plan} />
        </Suspense>
      </LongText>
      <dl className="wa-input" hidden={others.length === 0}>
        {others.map(({ name, text }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <LongText text={text} isWhole={isAnswerable} />
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

type LongTextProps = { lead?: string | null; text: string | null; isWhole?: boolean; children?: ReactNode };

/**
 * Shows a text, by default as it is, under a line that sums it up. A long one is cut until the user expands it, unless it is
 * shown whole: nobody answers what was hidden. Once it was, it is not cut by itself.
 */
export function LongText({ lead, text, isWhole = false, children }: LongTextProps) {
  const { t } = useTexts();
  const [isExpanded, setIsExpanded] = useState(isWhole);
  if (text === null) return null;
  const isLong = !isWhole && (text.length > MAX_CHARACTERS || text.split('\n').length > MAX_LINES);
  return (
    <>
      {lead && (
        <p className="wa-lead" dir="auto">
          {lead}
        </p>
      )}
      {text !== '' && (
        <div className={isLong && !isExpanded ? 'wa-cut' : undefined}>
          {children ?? <PlainText text={text} />}
        </div>
      )}
      {isLong && (
        <Button
          label={t(isExpanded ? 'showLess' : 'showAll')}
          className="wa-quiet"
          aria-expanded={isExpanded}
          onClick={() => setIsExpanded(!isExpanded)}
        />
      )}
    </>
  );
}

/** Shows how a plan differs from the one of its task of which the user requested changes, if there is one. */
export function PlanChanges({ notification }: { notification: NotificationCard }) {
  const { t } = useTexts();
  const [isOpen, setIsOpen] = useState(false);
  const before = usePlanBefore(notification);
  const after = readPlan(notification);
  if (before === undefined || after === undefined) return null;
  return (
    <details onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{t('changesSince')}</summary>
      {isOpen && (
        <Suspense>
          <Difference before={before} after={after} />
        </Suspense>
      )}
    </details>
  );
}

const readPlan = (card: NotificationCard): string | undefined =>
  isKnownNotification(card) && card.__typename === 'PlanRequestedNotification'
    ? card.payload.plan
    : undefined;

function usePlanBefore({ task, kind, createdAt }: NotificationCard): string | undefined {
  const inbox = useInboxClient();
  const isPlan = kind === 'PLAN_REQUESTED';
  const { data } = useResource(
    isPlan ? inbox.notifications({ kinds: ['PLAN_REQUESTED'], taskIds: [task.id] }) : nothing,
  );
  const before = data?.notifications.find(
    (card) => card.createdAt < createdAt && card.request?.answer?.plan?.decision === 'REQUEST_CHANGES',
  );
  return before && readPlan(before);
}
