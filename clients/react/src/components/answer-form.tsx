import { type AnswerContent, isKnownNotification, type NotificationCard } from '@workspace-account/client';
import { type FormEvent, useState } from 'react';
import { Button, Form, SendButton } from './controls.tsx';
import { useDraft } from './drafts.ts';
import { useTexts } from './texts.tsx';

type Props = { id: string; isReady: boolean; isSending: boolean; send(content: AnswerContent): void };

/** The form that answers a notification: a plan, questions, or with a reply. */
export function AnswerForm({
  notification,
  ...rest
}: Omit<Props, 'id'> & { notification: NotificationCard }) {
  const { t } = useTexts();
  const props = { id: notification.id, ...rest };
  if (!isKnownNotification(notification)) return <p className="wa-note">{t('answerInTask')}</p>;
  if (notification.__typename === 'PlanRequestedNotification') return <PlanForm {...props} />;
  if (notification.__typename === 'QuestionRequestedNotification')
    return <QuestionForm questions={notification.payload.questions} {...props} />;
  return <ReplyForm {...props} />;
}

function ReplyForm({ id, send, ...props }: Props) {
  const { t } = useTexts();
  const { keepFields } = useDraft(id);
  const submit = (fields: FormData) => send({ reply: { text: readText(fields) } });
  return (
    <Form action={t('send')} {...props} submit={submit} keep={keepFields}>
      <TextField id={id} label={t('reply')} isRequired />
    </Form>
  );
}

/** Approves a plan at once; requests changes and rejects with a text. */
function PlanForm({ id, send, ...props }: Props) {
  const { t } = useTexts();
  const draft = useDraft(id);
  const [decision, setDecision] = useState(draft.get().decision);
  const [wasToggled, setWasToggled] = useState(false);
  const toggle = (chosen: NonNullable<typeof decision>) => ({
    'aria-expanded': chosen === decision,
    onClick: () => {
      const next = chosen === decision ? undefined : chosen;
      draft.keep({ decision: next });
      setDecision(next);
      setWasToggled(true);
    },
  });
  const isRejecting = decision === 'REJECT';
  return (
    <>
      <div className="wa-actions">
        <SendButton label={t('approve')} onClick={() => send({ plan: { decision: 'APPROVE' } })} {...props} />
        <Button label={t('requestChanges')} {...toggle('REQUEST_CHANGES')} />
        <Button label={t('reject')} className="wa-danger" {...toggle('REJECT')} />
      </div>
      {decision && (
        <Form
          key={decision}
          action={t(isRejecting ? 'sendRejection' : 'sendRequest')}
          {...props}
          submit={(fields) => send({ plan: { decision, feedback: readText(fields) } })}
          keep={draft.keepFields}
        >
          <TextField
            id={id}
            label={t(isRejecting ? 'why' : 'whatShouldChange')}
            isRequired={!isRejecting}
            takesFocus={wasToggled}
          />
        </Form>
      )}
    </>
  );
}

const readText = (fields: FormData) => String(fields.get('text'));

const focus = (field: HTMLElement | null) => field?.focus();

type TextFieldProps = { id: string; label: string; isRequired: boolean; takesFocus?: boolean };

function TextField({ id, label, isRequired, takesFocus = false }: TextFieldProps) {
  const draft = useDraft(id);
  return (
    <label className="wa-field">
      {label}
      <textarea
        name="text"
        rows={2}
        maxLength={10_000}
        required={isRequired}
        defaultValue={draft.read('text')}
        {...(takesFocus && { ref: focus })}
      />
    </label>
  );
}

type QuestionCard = Extract<NotificationCard, { __typename: 'QuestionRequestedNotification' }>;
type Questions = QuestionCard['payload']['questions'];

function QuestionForm({ id, questions, send, ...props }: Props & { questions: Questions }) {
  const { t } = useTexts();
  const { keepFields } = useDraft(id);
  const [isIncomplete, setIsIncomplete] = useState(false);
  const submit = (fields: FormData) => {
    const answers = readAnswers(questions, fields);
    setIsIncomplete(answers === undefined);
    if (answers) send({ questions: answers });
  };
  return (
    <Form action={t('send')} {...props} submit={submit} keep={keepFields}>
      <QuestionFields id={id} questions={questions} />
      {isIncomplete && <p role="alert">{t('answerEvery')}</p>}
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

/** Keeps one answer to a question that takes one: an own text replaces the option, and an option the text. */
function keepLatest({ target, currentTarget }: FormEvent<HTMLFieldSetElement>): void {
  if (!(target instanceof HTMLInputElement)) return;
  const isOption = target.type === 'radio';
  if (!isOption && target.value.trim() === '') return;
  for (const field of currentTarget.querySelectorAll('input')) {
    if (field.type === 'radio' && !isOption) field.checked = false;
    if (field.type !== 'radio' && isOption) field.value = '';
  }
}

/** A group of options for each question, with a text for another answer. */
function QuestionFields({ id, questions }: { id: string; questions: Questions }) {
  const { t } = useTexts();
  const draft = useDraft(id);
  return questions.map(({ header, question, multiSelect, options }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a question is identified by its index.
    <fieldset key={index} className="wa-question" onInput={multiSelect ? undefined : keepLatest}>
      <legend dir="auto">
        {header && <span className="wa-label">{header}</span>}
        {question} {multiSelect && <span className="wa-hint">{t('chooseSeveral')}</span>}
      </legend>
      {options.map(({ label, description, preview }, option) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an option is identified by its index.
        <label key={option} className="wa-option" dir="auto">
          <input
            type={multiSelect ? 'checkbox' : 'radio'}
            name={`options-${index}`}
            value={option}
            defaultChecked={draft.has(`options-${index}`, String(option))}
          />
          <span>
            {label}
            {description && <span className="wa-hint">{description}</span>}
            {preview && <span className="wa-preview">{preview}</span>}
          </span>
        </label>
      ))}
      <label className="wa-other">
        {t(multiSelect ? 'other' : 'orElse')}{' '}
        <input
          name={`other-${index}`}
          maxLength={10_000}
          placeholder=" "
          defaultValue={draft.read(`other-${index}`)}
        />
      </label>
    </fieldset>
  ));
}
