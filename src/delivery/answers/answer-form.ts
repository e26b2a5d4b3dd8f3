import { ValidationError } from '../../errors/gateway-errors.ts';
import { planDecisions } from '../../notifications/answers/answer.enums.ts';
import type { GivenAnswer } from '../../notifications/answers/answer.ts';
import type { Notification } from '../../notifications/notification.entity.ts';
import { type AskUserQuestionOption, requirePayload } from '../../notifications/payload.ts';
import type { Texts } from './answer-texts.ts';

/** A part of the form: choices, whose values are their indexes, and a text. */
export type Prompt = {
  legend: string;
  choices: readonly AskUserQuestionOption[];
  isMultiple: boolean;
  textLabel: string;
};

/** The names of the fields of a prompt. */
export const fieldsOf = (index: number) => ({ choice: `choice-${index}`, text: `text-${index}` });

type Request = Pick<Notification, 'kind' | 'payload'>;

/** Lists what is asked. The last choice of a question is that the text is the answer. */
export function listPrompts(texts: Texts, request: Request): Prompt[] {
  switch (request.kind) {
    case 'plan_requested': {
      const choices = planDecisions.map((name) => ({ label: texts(name) }));
      return [{ legend: texts('decision'), choices, isMultiple: false, textLabel: texts('feedback') }];
    }
    case 'question_requested':
      return requirePayload(request, request.kind).input.questions.map((asked) => ({
        legend: asked.header ? `${asked.header}: ${asked.question}` : asked.question,
        choices: asked.options.length === 0 ? [] : [...asked.options, { label: texts('other') }],
        isMultiple: asked.multiSelect ?? false,
        textLabel: texts('text'),
      }));
    default:
      return [{ legend: texts('reply'), choices: [], isMultiple: false, textLabel: texts('reply') }];
  }
}

/** Lists everything that the task sent besides what {@link listPrompts} asks. */
export function listValues({
  kind,
  payload,
}: Request): { name: string; text: string; isMarkdown: boolean }[] {
  if (!('input' in payload)) {
    const { message } = payload;
    return message === null ? [] : [{ name: 'message', text: message, isMarkdown: true }];
  }
  const markdown = kind === 'plan_requested' ? ['summary', 'plan'] : [];
  const asked = kind === 'question_requested' ? ['questions'] : [];
  return Object.entries(payload.input)
    .filter(([name]) => !asked.includes(name))
    .map(([name, value]) => ({
      name,
      text: typeof value === 'string' ? value : JSON.stringify(value, null, 2),
      isMarkdown: markdown.includes(name),
    }));
}

/**
 * Reads an answer from the fields of the form. Checks it no further.
 * @throws {ValidationError} unless there is exactly one decision about a plan
 */
export function parseForm(request: Request, form: URLSearchParams): GivenAnswer {
  switch (request.kind) {
    case 'plan_requested': {
      const [chosen = -1, ...others] = readChoices(form, 0);
      const decision = planDecisions[chosen];
      if (decision === undefined || others.length > 0)
        throw new ValidationError([{ path: ['plan', 'decision'], message: 'must be one', value: null }]);
      return { plan: { decision, feedback: readText(form, 0) } };
    }
    case 'question_requested':
      return {
        questions: requirePayload(request, request.kind).input.questions.map(
          ({ options: offered }, index) => {
            const chosen = readChoices(form, index);
            const options = chosen.filter((choice) => choice !== offered.length).toSorted((a, b) => a - b);
            // If it is chosen without a text, it is blank, which is refused.
            return {
              index,
              options,
              other: readText(form, index) ?? (options.length < chosen.length ? '' : null),
            };
          },
        ),
      };
    default:
      return { reply: { text: readText(form, 0) ?? '' } };
  }
}

/** Whatever is no index becomes one that no choice has. */
const readChoices = (form: URLSearchParams, index: number): number[] =>
  form.getAll(fieldsOf(index).choice).map((value) => (/^\d{1,2}$/.test(value) ? Number(value) : -1));

/** Browsers send line breaks as CRLF. PostgreSQL stores no U+0000. Blank text is null. */
function readText(form: URLSearchParams, index: number): string | null {
  const text = form.getAll(fieldsOf(index).text).join('\n').replaceAll('\r\n', '\n').replaceAll('\0', '');
  return text.trim() === '' ? null : text;
}
