import { z } from 'zod';
import { ValidationError } from '../../errors/gateway-errors.ts';
import type { Path } from '../../errors/issue.ts';
import { builder } from '../../graphql/builder.ts';
import { maxItems } from '../../graphql/rules.ts';
import { contentSizeNote } from '../../values/constraints.ts';
import { MAX_OPTIONS, MAX_QUESTIONS } from '../payload.ts';
import { type GivenAnswer, MAX_ANSWER_CHARACTERS } from './answer.ts';
import { PlanDecisionEnum } from './answer-enums.graphql.ts';

const limit = `At most ${MAX_ANSWER_CHARACTERS.toLocaleString('en')} characters.`;

const PlanAnswerInput = builder.inputType('PlanAnswerInput', {
  description: 'A decision about a plan.',
  fields: (t) => ({
    decision: t.field({ type: PlanDecisionEnum, required: true, description: 'The decision.' }),
    feedback: t.string({
      description: `What the task should consider. Blank text is stored as \`null\`. ${limit}`,
    }),
  }),
});

const QuestionAnswerInput = builder.inputType('QuestionAnswerInput', {
  description:
    'The answer to one question: an option, several if the question has `multiSelect`, or `other` instead. With `multiSelect`, `other` can be combined with options.',
  fields: (t) => ({
    index: t.int({ required: true, description: 'The index of the question, from 0.' }),
    options: t.intList({
      required: true,
      description: 'The indexes of the chosen options, from 0. Empty if `other` is the answer.',
      validate: { ...maxItems(MAX_OPTIONS), items: { schema: z.int() } },
    }),
    other: t.string({ description: `An answer that is not among the options. ${limit}` }),
  }),
});

const ReplyInput = builder.inputType('ReplyInput', {
  description: 'A reply to the response of a task.',
  fields: (t) => ({ text: t.string({ required: true, description: `The reply. ${limit}` }) }),
});

/** The members of an answer, of which it has exactly one. */
const defineMembers = (
  t: PothosSchemaTypes.InputFieldBuilder<typeof builder.$inferSchemaTypes, 'InputObject'>,
) => ({
  plan: t.field({
    type: PlanAnswerInput,
    description: 'A decision, which answers a `PLAN_REQUESTED` notification.',
  }),
  questions: t.field({
    type: [QuestionAnswerInput],
    description: `Answers to all questions, which answer a \`QUESTION_REQUESTED\` notification. At most ${MAX_QUESTIONS}.`,
    validate: maxItems(MAX_QUESTIONS),
  }),
  reply: t.field({
    type: ReplyInput,
    description: 'A reply, which answers a `TASK_RESPONSE_READY` notification whose task awaits input.',
  }),
});

export const AnswerNotificationInput = builder.inputType('AnswerNotificationInput', {
  description: `An answer: exactly one of \`plan\`, \`questions\` and \`reply\`. ${contentSizeNote}`,
  fields: (t) => ({
    id: t.id({ required: true, description: "The notification's ID." }),
    answerId: t.id({
      required: true,
      description:
        "The answer's ID, which the client generates, for example a UUID. A retry with the same ID and content returns the stored answer.",
    }),
    ...defineMembers(t),
  }),
});

export const DefaultAnswerInput = builder.inputType('DefaultAnswerInput', {
  description: 'The answer that a request has if it expires.',
  isOneOf: true,
  fields: defineMembers,
});

/**
 * Converts an input to an answer.
 * @throws {ValidationError} unless it has exactly one of the three members
 */
export function toGivenAnswer(
  input: Omit<typeof AnswerNotificationInput.$inferInput, 'id' | 'answerId'>,
  path: Path,
): GivenAnswer {
  const { plan, questions, reply } = input;
  const [given, ...others] = [
    plan && { plan: { decision: plan.decision, feedback: plan.feedback?.trim() ? plan.feedback : null } },
    questions && {
      questions: questions.map(({ index, options, other }) => ({ index, options, other: other ?? null })),
    },
    reply && { reply: { text: reply.text } },
  ].filter((member) => member != null);
  if (given !== undefined && others.length === 0) return given;
  const message = 'must have exactly one of plan, questions and reply';
  throw new ValidationError([{ path, message, value: input }]);
}
