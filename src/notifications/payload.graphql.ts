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
  description: "A plan's approval is asked for.",
  fields: (t) => ({
    toolId: t.exposeID('toolId', { description: 'The call of the tool that asks.' }),
    summary: t.string({ description: 'The plan in short.', resolve: ({ input }) => input.summary }),
    plan: t.string({ description: 'The whole plan.', resolve: ({ input }) => input.plan }),
    input: t.expose('input', { type: 'JSON', description: 'What the tool was called with, whole.' }),
  }),
});

const Option = builder.objectRef<AskUserQuestionOption>('AskUserQuestionOption').implement({
  description: 'One answer to choose.',
  fields: (t) => ({
    label: t.exposeString('label', { description: 'The answer.' }),
    description: t.exposeString('description', { nullable: true, description: 'What it means.' }),
    preview: t.exposeString('preview', { nullable: true, description: 'What it would look like.' }),
  }),
});

const Question = builder.objectRef<AskUserQuestion>('AskUserQuestion').implement({
  description: 'A question to the user.',
  fields: (t) => ({
    question: t.exposeString('question', { description: 'The question.' }),
    options: t.expose('options', { type: [Option], description: 'Answers to choose from.' }),
    header: t.exposeString('header', { nullable: true, description: 'A short title.' }),
    questionId: t.exposeString('id', {
      nullable: true,
      description: "The question's own ID, `id` in `input`. Nothing makes it unique.",
    }),
    multiSelect: t.exposeBoolean('multiSelect', {
      nullable: true,
      description: 'Whether several answers may be chosen.',
    }),
  }),
});

export const QuestionRequested = builder
  .objectRef<QuestionRequestedPayload>('QuestionRequestedPayload')
  .implement({
    description: 'Questions are asked.',
    fields: (t) => ({
      toolId: t.exposeID('toolId', { description: 'The call of the tool that asks.' }),
      questions: t.field({
        type: [Question],
        description: 'The questions.',
        resolve: ({ input }) => input.questions,
      }),
      input: t.expose('input', { type: 'JSON', description: 'What the tool was called with, whole.' }),
    }),
  });

export const TaskResult = builder.objectRef<TaskResultPayload>('TaskResultPayload').implement({
  description: 'A task failed or has an answer.',
  fields: (t) => ({
    taskStatus: t.expose('taskStatus', { type: TaskStatusEnum, description: 'How the task stands.' }),
    message: t.exposeString('message', { nullable: true, description: 'The answer or the error.' }),
    messageLabel: t.exposeString('messageLabel', { nullable: true, description: 'Who or what speaks.' }),
    messageTimestamp: t.exposeString('messageTimestamp', {
      nullable: true,
      description: 'When it was said, as the task tells it.',
    }),
  }),
});
