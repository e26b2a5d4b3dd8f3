import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import { builder } from '../graphql/builder.ts';
import { boundedText, jsonRuleFor } from '../graphql/rules.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { TaskStatusEnum } from './notification-enums.graphql.ts';
import { MAX_OPTIONS, MAX_QUESTIONS, type NotificationContent, type TaskResultPayload } from './payload.ts';

const PlanInput = z.looseObject({ summary: z.string(), plan: z.string() });

/** A longer list is rejected without checking its items, each of which could have an error. */
const QuestionInput = z.looseObject({
  questions: z
    .array(
      z.strictObject({
        question: z.string(),
        options: z
          .array(
            z.strictObject({
              label: z.string(),
              description: z.string().optional(),
              preview: z.string().optional(),
            }),
          )
          .max(MAX_OPTIONS),
        header: z.string().optional(),
        id: z.string().optional(),
        multiSelect: z.boolean().nullish(),
      }),
    )
    .max(MAX_QUESTIONS),
});

const PlanRequestedInput = builder.inputType('PlanRequestedInput', {
  description: 'A plan that the user is asked to approve.',
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'The ID of the tool call that asks the user.' }),
    input: t.field({
      type: 'JSON',
      required: true,
      description:
        "The tool call's input: an object with the strings `summary` and `plan`. Additional properties are kept.",
      validate: jsonRuleFor(PlanInput),
    }),
  }),
});

const QuestionRequestedInput = builder.inputType('QuestionRequestedInput', {
  description: 'Questions that the user is asked to answer.',
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'The ID of the tool call that asks the user.' }),
    input: t.field({
      type: 'JSON',
      required: true,
      description: `The tool call's input: an object with \`questions\`, an array of at most ${MAX_QUESTIONS} questions with at most ${MAX_OPTIONS} options each. A question has \`question\`, \`options\` and optionally \`header\`, \`id\` and \`multiSelect\`; an option has \`label\` and optionally \`description\` and \`preview\`. Only \`multiSelect\` can be \`null\`.\n\nAdditional properties of the object are kept; those of a question or option are rejected.`,
      validate: jsonRuleFor(QuestionInput),
    }),
  }),
});

const TaskResultInput = builder.inputType('TaskResultInput', {
  description: 'The result of a task that failed or produced a response.',
  fields: (t) => ({
    taskStatus: t.field({ type: TaskStatusEnum, required: true, description: 'The status of the task.' }),
    message: t.string({
      description: 'The response or the error message. Limited by the size of the payload.',
    }),
    messageLabel: t.string(boundedText('A label for the message.', MAX_LENGTH.name)),
    messageTimestamp: t.string(
      boundedText("Timestamp of the message, in the task's own format.", MAX_LENGTH.name),
    ),
  }),
});

export const NotificationPayloadInput = builder.inputType('NotificationPayloadInput', {
  description:
    'The payload of a notification. The field that is set determines the kind of the notification.',
  isOneOf: true,
  fields: (t) => ({
    planRequested: t.field({
      type: PlanRequestedInput,
      description: 'The payload of a `PLAN_REQUESTED` notification.',
    }),
    questionRequested: t.field({
      type: QuestionRequestedInput,
      description: 'The payload of a `QUESTION_REQUESTED` notification.',
    }),
    taskFailed: t.field({
      type: TaskResultInput,
      description: 'The payload of a `TASK_FAILED` notification.',
    }),
    taskResponseReady: t.field({
      type: TaskResultInput,
      description: 'The payload of a `TASK_RESPONSE_READY` notification.',
    }),
  }),
});

/**
 * Converts an input to a kind and a payload.
 * @throws {ValidationError} if a variable left every field null, which GraphQL's own check accepts
 */
export function toContent(
  given: typeof NotificationPayloadInput.$inferInput,
  path: readonly (string | number)[],
): NotificationContent {
  const { planRequested: plan, questionRequested: question, taskFailed, taskResponseReady } = given;
  if (plan && matchesShape(PlanInput, plan.input)) {
    return { kind: 'plan_requested', payload: { toolId: plan.toolId, input: plan.input } };
  }
  if (question && matchesShape(QuestionInput, question.input)) {
    return { kind: 'question_requested', payload: { toolId: question.toolId, input: question.input } };
  }
  if (taskFailed) return { kind: 'task_failed', payload: toResult(taskFailed) };
  if (taskResponseReady) return { kind: 'task_response_ready', payload: toResult(taskResponseReady) };
  throw new ValidationError([
    { path, message: 'must have exactly one field, which must not be null', value: given },
  ]);
}

/** Narrows the type of a value, which the rule of its argument has validated. */
function matchesShape<Shape extends z.ZodType>(shape: Shape, value: unknown): value is z.output<Shape> {
  return shape.safeParse(value).success;
}

function toResult(given: typeof TaskResultInput.$inferInput): TaskResultPayload {
  const { taskStatus, message, messageLabel, messageTimestamp } = given;
  return {
    taskStatus,
    message: message ?? null,
    messageLabel: messageLabel ?? null,
    messageTimestamp: messageTimestamp ?? null,
  };
}
