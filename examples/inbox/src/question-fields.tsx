import type { KnownNotificationCard, QuestionAnswerInput } from '@workspace-account/client';

type QuestionCard = Extract<KnownNotificationCard, { __typename: 'QuestionRequestedNotification' }>;
type Questions = QuestionCard['payload']['questions'];

/** Reads the answers to all questions from a form, or returns `undefined` if one is missing. */
export function readAnswers(questions: Questions, fields: FormData): QuestionAnswerInput[] | undefined {
  const answers = questions.map(({ multiSelect }, index) => {
    const other = String(fields.get(`other-${index}`)).trim() || null;
    const options = fields.getAll(`options-${index}`).map(Number);
    return { index, options: other !== null && !multiSelect ? [] : options, other };
  });
  return answers.every(({ options, other }) => options.length > 0 || other !== null) ? answers : undefined;
}

/** A group of options for each question, with a text for another answer. */
export const QuestionFields = ({ questions }: { questions: Questions }) =>
  questions.map(({ header, question, multiSelect, options }, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a question is identified by its index.
    <fieldset key={index} className={multiSelect ? 'multiple' : undefined}>
      <legend>
        {header && <span className="label">{header}</span>}
        {question} {multiSelect && <span className="hint">Choose one or more.</span>}
      </legend>
      {options.map(({ label, description, preview }, option) => (
        <label key={label} className="option">
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
