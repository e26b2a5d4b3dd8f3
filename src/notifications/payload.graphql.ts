import { builder } from '../graphql/builder.ts';
import { TaskStatusEnum } from './notification-enums.graphql.ts';
import type {
  AskUserQuestion,
  AskUserQuestionOption,
  PlanRequestedPayload,
  QuestionRequestedPayload,
  TaskResultPayload,
} from './payload.ts';

export const PlanRequested = builder.objectRef<PlanRequestedPayload>('PlanRequestedPayload').implement({
  description: 'A plan that the user is asked to approve.',
  fields: (t) => ({
    toolId: t.exposeID('toolId', { description: 'The ID of the tool call that asks the user.' }),
    summary: t.string({
      description: 'A summary of the plan, from `input`.',
      resolve: ({ input }) => input.summary,
    }),
    plan: t.string({ description: 'The full plan, from `input`.', resolve: ({ input }) => input.plan }),
    input: t.expose('input', { type: 'JSON', description: "The tool call's complete input." }),
  }),
});

const Option = builder.objectRef<AskUserQuestionOption>('AskUserQuestionOption').implement({
  description: 'An answer that the user can choose.',
  fields: (t) => ({
    label: t.exposeString('label', { description: 'The text of the answer.' }),
    description: t.exposeString('description', {
      nullable: true,
      description: 'An explanation of the answer. `null` if there is none.',
    }),
    preview: t.exposeString('preview', {
      nullable: true,
      description: 'A preview of the result of choosing this answer. `null` if there is none.',
    }),
  }),
});

const Question = builder.objectRef<AskUserQuestion>('AskUserQuestion').implement({
  description: 'A question for the user.',
  fields: (t) => ({
    question: t.exposeString('question', { description: 'The text of the question.' }),
    options: t.expose('options', { type: [Option], description: 'The answers to choose from.' }),
    header: t.exposeString('header', {
      nullable: true,
      description: 'A short heading. `null` if there is none.',
    }),
    questionId: t.exposeString('id', {
      nullable: true,
      description: 'The `id` of the question in `input`, not necessarily unique. `null` if there is none.',
    }),
    multiSelect: t.exposeBoolean('multiSelect', {
      nullable: true,
      description: 'Whether the user can choose several answers. `null` if unspecified.',
    }),
  }),
});

export const QuestionRequested = builder
  .objectRef<QuestionRequestedPayload>('QuestionRequestedPayload')
  .implement({
    description: 'Questions that the user is asked to answer.',
    fields: (t) => ({
      toolId: t.exposeID('toolId', { description: 'The ID of the tool call that asks the user.' }),
      questions: t.field({
        type: [Question],
        description: 'The questions, from `input`.',
        resolve: ({ input }) => input.questions,
      }),
      input: t.expose('input', { type: 'JSON', description: "The tool call's complete input." }),
    }),
  });

export const TaskResult = builder.objectRef<TaskResultPayload>('TaskResultPayload').implement({
  description: 'The result of a task that failed or produced a response.',
  fields: (t) => ({
    taskStatus: t.expose('taskStatus', { type: TaskStatusEnum, description: 'The status of the task.' }),
    message: t.exposeString('message', {
      nullable: true,
      description: 'The response or the error message. `null` if there is none.',
    }),
    messageLabel: t.exposeString('messageLabel', {
      nullable: true,
      description: 'A label for the message. `null` if there is none.',
    }),
    messageTimestamp: t.exposeString('messageTimestamp', {
      nullable: true,
      description: "Timestamp of the message, in the task's own format. `null` if there is none.",
    }),
  }),
});
