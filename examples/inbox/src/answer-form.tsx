import { type AnswerContent, isKnownNotification, type NotificationCard } from '@workspace-account/client';
import { useState } from 'react';
import { Button, Form, SendButton } from './controls.tsx';

type Props = { isReady: boolean; isSending: boolean; send(content: AnswerContent): void };

/** The form that answers a notification: a plan, questions, or with a reply. */
export function AnswerForm({ notification, ...props }: Props & { notification: NotificationCard }) {
  if (!isKnownNotification(notification)) return <p className="note">Answer in the task.</p>;
  if (notification.__typename === 'PlanRequestedNotification') return <PlanForm {...props} />;
  if (notification.__typename === 'QuestionRequestedNotification')
    return <QuestionForm questions={notification.payload.questions} {...props} />;
  return <ReplyForm {...props} />;
}

const ReplyForm = ({ send, ...props }: Props) => (
  <Form action="Send" {...props} submit={(fields) => send({ reply: { text: readText(fields) } })}>
    <TextField label="Reply" isRequired />
  </Form>
);

/** Approves a plan at once; requests changes and rejects with a text. */
function PlanForm({ send, ...props }: Props) {
  const [decision, setDecision] = useState<'REQUEST_CHANGES' | 'REJECT'>();
  const toggle = (next: typeof decision) => ({
    'aria-expanded': next === decision,
    onClick: () => setDecision(next === decision ? undefined : next),
  });
  const isRejecting = decision === 'REJECT';
  const approve = () => send({ plan: { decision: 'APPROVE' } });
  return (
    <>
      <div className="actions">
        <SendButton label="Approve" onClick={approve} {...props} />
        <Button label="Request changes" {...toggle('REQUEST_CHANGES')} />
        <Button label="Reject" className="danger" {...toggle('REJECT')} />
      </div>
      {decision && (
        <Form
          action={isRejecting ? 'Send rejection' : 'Send request'}
          {...props}
          submit={(fields) => send({ plan: { decision, feedback: readText(fields) } })}
        >
          <TextField label={isRejecting ? 'Why?' : 'What should change?'} isRequired={!isRejecting} />
        </Form>
      )}
    </>
  );
}

const readText = (fields: FormData) => String(fields.get('text'));

const TextField = ({ label, isRequired }: { label: string; isRequired: boolean }) => (
  <label>
    {label} {!isRequired && '(optional)'}
    <textarea name="text" rows={2} maxLength={10_000} required={isRequired} />
  </label>
);

type QuestionCard = Extract<NotificationCard, { __typename: 'QuestionRequestedNotification' }>;
type Questions = QuestionCard['payload']['questions'];

function QuestionForm({ questions, send, ...props }: Props & { questions: Questions }) {
  const [isIncomplete, setIsIncomplete] = useState(false);
  const submit = (fields: FormData) => {
    const answers = readAnswers(questions, fields);
    setIsIncomplete(answers === undefined);
    if (answers) send({ questions: answers });
  };
  return (
    <Form action="Send" {...props} submit={submit}>
      <QuestionFields questions={questions} />
      {isIncomplete && <p role="alert">Answer every question.</p>}
    </Form>
  );
}

/** Reads the answers to all questions from a form, or returns `undefined` if one is missing. */
function readAnswers(questions: Questions, fields: FormData) {
  const answers = questions.map(({ multiSelect }, index) => {
    const other = String(fields.get(`other-${index}`)).trim() || null;
    const options = fields.getAll(`options-${index}`).map(Number);
    return { index, options: other !== null && !multiSelect ? [] : options, other };
  });
  return answers.every(({ options, other }) => options.length > 0 || other !== null) ? answers : undefined;
}

/** A group of options for each question, with a text for another answer. */
const QuestionFields = ({ questions }: { questions: Questions }) =>
  questions.map(({ header, question, multiSelect, options }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a question is identified by its index.
    <fieldset key={index} className={multiSelect ? 'multiple' : undefined}>
      <legend>
        {header && <span className="label">{header}</span>}
        {question} {multiSelect && <span className="hint">Choose one or more.</span>}
      </legend>
      {options.map(({ label, description, preview }, option) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an option is identified by its index.
        <label key={option} className="option">
          <input type={multiSelect ? 'checkbox' : 'radio'} name={`options-${index}`} value={option} />
          <span>
            {label}
            {description && <span className="hint">{description}</span>}
            {preview && <span className="text">{preview}</span>}
          </span>
        </label>
      ))}
      <label className="other">
        {multiSelect ? 'Other' : 'Or else'}{' '}
        <input name={`other-${index}`} maxLength={10_000} placeholder=" " />
      </label>
    </fieldset>
  ));
