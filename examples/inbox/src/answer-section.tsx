import type { AnswerContent, NotificationCard } from '@workspace-account/client';
import { useAnswer } from '@workspace-account/react';
import { useRef, useState } from 'react';
import { AnswerForm } from './answer-form.tsx';
import { Failure } from './screen.tsx';
import { describeAnswer, describeAuthor, describeWholeAnswer, Time, toWords } from './texts.tsx';

type Props = { notification: NotificationCard; request: NonNullable<NotificationCard['request']> };

/** A form that answers a request, or its answer. */
export function AnswerSection({ notification, request }: Props) {
  const { ref, isReady, answer, state, error } = useAnswer(notification);
  const isOpen = request.state === 'OPEN';
  // While an answer is on the way, the form is only hidden: if it is refused, what the user typed is still there.
  const [wasOpen, setWasOpen] = useState(isOpen);
  if (isOpen && !wasOpen) setWasOpen(true);
  const section = useRef<HTMLDivElement>(null);
  const send = (content: AnswerContent) => {
    if (isReady) section.current?.focus();
    void answer(content);
  };
  return (
    <div className="request" ref={section} tabIndex={-1}>
      {state === 'alreadySettled' && <p role="status">Your answer came too late. This was first:</p>}
      {isOpen && request.expiresAt && (
        <p className="expiry">
          Expires <Time at={request.expiresAt} isFuture />
          {request.onExpiry && `; then: ${describeWholeAnswer(request.onExpiry)}`}
        </p>
      )}
      {wasOpen && (
        <div hidden={!isOpen} ref={isOpen ? ref : undefined}>
          <AnswerForm {...{ notification, isReady, send }} isSending={state === 'sending'} />
        </div>
      )}
      {state === 'ignored' && (
        <p role="alert">Nothing was sent, because this had just appeared or moved. Send it again.</p>
      )}
      {!isOpen && <Outcome request={request} />}
      {isOpen && error && <Failure error={error} />}
    </div>
  );
}

function Outcome({ request: { state, answer, receipt } }: Pick<Props, 'request'>) {
  if (answer === null) return <p className="answer">{toWords(state)}, without an answer.</p>;
  return (
    <div className="answer" data-decision={answer.plan?.decision}>
      <p className="answer-title">{describeAnswer(answer)}</p>
      {answer.plan?.feedback && <p className="text">{answer.plan.feedback}</p>}
      <dl hidden={answer.questions === null}>
        {answer.questions?.map(({ index, question, labels, other }) => (
          <div key={index}>
            <dt>{question}</dt>
            <dd>{[...labels, ...(other === null ? [] : [other])].join(', ')}</dd>
          </div>
        ))}
      </dl>
      <p className="meta">
        <span>{describeAuthor(answer)}</span>
        <Time at={answer.answeredAt} />
      </p>
      {receipt && (
        <p className="receipt" data-outcome={receipt.outcome}>
          {receipt.outcome === 'REFUSED' ? 'The task could not use it' : 'The task accepted it'}
          {receipt.message && `: ${receipt.message}`}
        </p>
      )}
    </div>
  );
}
