import { type AnswerContent, isKnownNotification, type NotificationCard } from '@workspace-account/client';
import { useRef, useState } from 'react';
import type { UseAnswer } from '../use-answer.ts';
import { AnswerForm } from './answer-form.tsx';
import { LongText } from './content.tsx';
import { useDraft } from './drafts.ts';
import { InboxFailure } from './loaded.tsx';
import { Time, useTexts } from './texts.tsx';

type Request = NonNullable<NotificationCard['request']>;
type Props = { notification: NotificationCard; request: Request; answering: UseAnswer };

/** A form that answers a request, or its answer. */
export function AnswerSection({ notification, request, answering }: Props) {
  const { t } = useTexts();
  const { ref, isReady, answer, state, error } = answering;
  const { forget } = useDraft(notification.id);
  const isOpen = request.state === 'OPEN';
  // While an answer is on the way, the form is only hidden: if it is refused, what the user typed is still there.
  const [wasOpen, setWasOpen] = useState(isOpen);
  if (isOpen && !wasOpen) setWasOpen(true);
  const section = useRef<HTMLDivElement>(null);
  const send = async (content: AnswerContent) => {
    if (isReady) section.current?.focus();
    if ((await answer(content)) !== undefined) forget();
  };
  return (
    <div className="wa-request" ref={section} tabIndex={-1}>
      {state === 'alreadySettled' && <p role="status">{t('tooLate')}</p>}
      {isOpen && request.expiresAt && <Expiry at={request.expiresAt} onExpiry={request.onExpiry} />}
      {wasOpen && (
        <div hidden={!isOpen} ref={isOpen ? ref : undefined}>
          <AnswerForm
            {...{ notification, isReady }}
            send={(content) => void send(content)}
            isSending={state === 'sending'}
          />
        </div>
      )}
      {state === 'ignored' && <p role="alert">{t('ignored')}</p>}
      {!isOpen && <Outcome notification={notification} request={request} />}
      {isOpen && error && <InboxFailure error={error} />}
    </div>
  );
}

/** When an open request expires, and what then becomes its answer. */
function Expiry({ at, onExpiry }: { at: string; onExpiry: Request['onExpiry'] }) {
  const { t, describeWholeAnswer } = useTexts();
  // The texts contain the time as an element.
  const MARK = '\u0000';
  const answer = onExpiry ? describeWholeAnswer(onExpiry) : '';
  const [before, after] = t(onExpiry ? 'expiresThen' : 'expires', { time: MARK, answer }).split(MARK);
  return (
    <p className="wa-expiry">
      {before}
      <Time at={at} isFuture />
      {after}
    </p>
  );
}

function Outcome({ notification, request: { answer, receipt } }: Omit<Props, 'answering'>) {
  const { t, describeAnswer, describeAuthor, describeOutcome } = useTexts();
  if (answer === null) return <p className="wa-answer">{describeOutcome(notification, 'Text')}</p>;
  return (
    <div className="wa-answer" data-decision={answer.plan?.decision}>
      <p className="wa-answer-title" dir="auto">
        {describeAnswer(answer)}
      </p>
      {answer.plan?.feedback && (
        <p className="wa-text" dir="auto">
          {answer.plan.feedback}
        </p>
      )}
      <dl hidden={answer.questions === null}>
        {answer.questions?.map(({ index, question, options, labels, other }) => (
          <div key={index} dir="auto">
            <dt>{question}</dt>
            <dd>
              {[...labels, ...(other === null ? [] : [other])].join(', ')}
              {listPreviews(notification, index, options).map(({ option, label, preview }) => (
                <LongText key={option} lead={options.length > 1 ? label : null} text={preview}>
                  <span className="wa-preview">{preview}</span>
                </LongText>
              ))}
            </dd>
          </div>
        ))}
      </dl>
      <p className="wa-meta">
        <span>{describeAuthor(answer)}</span>
        <Time at={answer.answeredAt} />
      </p>
      {receipt && (
        <p className="wa-receipt" data-outcome={receipt.outcome}>
          {t(receipt.outcome === 'REFUSED' ? 'refused' : 'accepted')}
          {receipt.message && `: ${receipt.message}`}
        </p>
      )}
    </div>
  );
}

/** The previews of chosen options of a question: what the user has allowed, for example. */
function listPreviews(notification: NotificationCard, index: number, chosen: readonly number[]) {
  if (!isKnownNotification(notification)) return [];
  if (notification.__typename !== 'QuestionRequestedNotification') return [];
  const { options = [] } = notification.payload.questions[index] ?? {};
  return options
    .map(({ label, preview }, option) => ({ option, label, preview }))
    .filter(({ option, preview }) => preview && chosen.includes(option));
}
