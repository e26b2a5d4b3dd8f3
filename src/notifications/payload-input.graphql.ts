import { z } from 'zod';
import { ValidationError } from '../errors/gateway-errors.ts';
import { builder } from '../graphql/builder.ts';
import { boundedText, jsonRuleFor } from '../graphql/rules.ts';
import { MAX_LENGTH } from '../values/text.ts';
import { TaskStatusEnum } from './notification-enums.graphql.ts';
import type { NotificationContent, TaskResultPayload } from './payload.ts';

const PlanInput = z.looseObject({ summary: z.string(), plan: z.string() });

/** Far more than any agent asks at once. A list without a limit would be read to its end before its errors are cut. */
const MAX_QUESTIONS = 50;
const MAX_OPTIONS = 50;

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
  description: "A plan's approval is asked for.",
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'The call of the tool that asks.' }),
    input: t.field({
      type: 'JSON',
      required: true,
      description:
        'An object with `summary` and `plan`, texts both; further properties are kept. Limited by the size of a request, 1 MiB.',
      validate: jsonRuleFor(PlanInput),
    }),
  }),
});

const QuestionRequestedInput = builder.inputType('QuestionRequestedInput', {
  description: 'Questions are asked.',
  fields: (t) => ({
    toolId: t.id({ required: true, description: 'The call of the tool that asks.' }),
    input: t.field({
      type: 'JSON',
      required: true,
      description: `An object with \`questions\`, a list of at most ${MAX_QUESTIONS} \`AskUserQuestion\` with at most ${MAX_OPTIONS} options each. Further properties are kept. Limited by the size of a request, 1 MiB.`,
      validate: jsonRuleFor(QuestionInput),
    }),
  }),
});

const TaskResultInput = builder.inputType('TaskResultInput', {
  description: 'A task failed or has an answer.',
  fields: (t) => ({
    taskStatus: t.field({ type: TaskStatusEnum, required: true, description: 'How the task stands.' }),
    message: t.string(boundedText('The answer or the error.', MAX_LENGTH.message)),
    messageLabel: t.string(boundedText('Who or what speaks.', MAX_LENGTH.name)),
    messageTimestamp: t.string(
      boundedText('The time of the message, in a form of the task.', MAX_LENGTH.name),
    ),
  }),
});

export const NotificationPayloadInput = builder.inputType('NotificationPayloadInput', {
  description: 'What a notification tells; which one is given decides its kind.',
  isOneOf: true,
  fields: (t) => ({
    planRequested: t.field({ type: PlanRequestedInput, description: 'Makes it `PLAN_REQUESTED`.' }),
    questionRequested: t.field({
      type: QuestionRequestedInput,
      description: 'Makes it `QUESTION_REQUESTED`.',
    }),
    taskFailed: t.field({ type: TaskResultInput, description: 'Makes it `TASK_FAILED`.' }),
    taskResponseReady: t.field({ type: TaskResultInput, description: 'Makes it `TASK_RESPONSE_READY`.' }),
  }),
});

/**
 * The kind and the payload that an input stands for.
 * @throws {ValidationError} where a variable left every member null, which GraphQL's own check lets pass
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
    { path, message: 'must have exactly one member that is not null', value: given },
  ]);
}

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
