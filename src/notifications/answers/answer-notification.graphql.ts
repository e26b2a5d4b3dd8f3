import { accountWrite } from '../../auth/access.ts';
import { builder } from '../../graphql/builder.ts';
import { answerWeight } from '../../graphql/document-limits.ts';
import type { Notification } from '../notification.entity.ts';
import { NotificationUnion } from '../notification-type.graphql.ts';
import type { RequestState } from './answer.enums.ts';
import { RequestStateEnum } from './answer-enums.graphql.ts';
import { AnswerNotificationInput, toGivenAnswer } from './answer-input.graphql.ts';
import { type AnswerRequest, answerNotification, recordAnswer } from './answer-notification.ts';
import { AnswerType, type AnswerWithTime, withTime } from './request-type.graphql.ts';

const AnswerStored = builder
  .objectRef<{ answer: AnswerWithTime; notification: Notification }>('AnswerStored')
  .implement({
    description: 'The answer is stored.',
    fields: (t) => ({
      answer: t.expose('answer', {
        type: AnswerType,
        extensions: answerWeight,
        nullable: true,
        description:
          'The stored answer. Never `null`; the type allows it, so that `answer` can be selected of both results.',
      }),
      notification: t.expose('notification', {
        type: NotificationUnion,
        description: 'The notification, resolved unless it was dismissed.',
      }),
    }),
  });

const AlreadySettled = builder
  .objectRef<{ state: RequestState; answer: AnswerWithTime | null; notification: Notification }>(
    'AlreadySettled',
  )
  .implement({
    description: 'The request was settled before. Nothing was changed.',
    fields: (t) => ({
      state: t.expose('state', { type: RequestStateEnum, description: 'How the request was settled.' }),
      settledAt: t.field({
        type: 'DateTime',
        description: 'Timestamp at which the request was settled.',
        resolve: ({ answer, notification }) =>
          answer?.answeredAt ?? notification.resolvedAt ?? notification.updatedAt,
      }),
      answer: t.expose('answer', {
        type: AnswerType,
        extensions: answerWeight,
        nullable: true,
        description: 'The answer that came first. `null` unless the state is `ANSWERED`.',
      }),
      notification: t.expose('notification', { type: NotificationUnion, description: 'The notification.' }),
    }),
  });

const AnswerResultUnion = builder.unionType('AnswerResult', {
  description: 'The result of answering.',
  types: [AnswerStored, AlreadySettled],
  resolveType: (result) => ('state' in result ? 'AlreadySettled' : 'AnswerStored'),
});

export const answerNotificationField = 'answerNotification';

builder.mutationField(answerNotificationField, (t) =>
  t.field({
    access: accountWrite,
    type: AnswerResultUnion,
    nullable: true,
    description:
      'Answers the request of a notification, dismissed or not. The first answer settles the request; a later one returns `AlreadySettled`. Resolves an active notification. Fails with `CONFLICT` (`ANSWER_ID_REUSED`) if an answer with the same `answerId` and other content is stored.',
    args: {
      input: t.arg({ type: AnswerNotificationInput, required: true, description: 'The answer.' }),
    },
    resolve: async (root, { input }, context) => {
      const { viewer } = context;
      const { id, answerId } = input;
      const request: AnswerRequest = {
        id,
        answerId,
        given: toGivenAnswer(input, ['input']),
        via: root.via ?? 'graphql',
      };
      const result = await answerNotification(context, viewer.userId, request, ['input']);
      const { state, notification, isOwn, isNew } = result;
      if (isNew) recordAnswer(context, viewer.userId, request);
      const answer = withTime(result.answer, notification);
      return isOwn && answer !== null ? { answer, notification } : { state, answer, notification };
    },
  }),
);
