import type { GraphQLResolveInfo } from 'graphql';
import { platform, requireOwnTask } from '../../auth/access.ts';
import { ValidationError } from '../../errors/gateway-errors.ts';
import { builder } from '../../graphql/builder.ts';
import { boundedText, wholeNumberRule } from '../../graphql/rules.ts';
import { selectedFields } from '../../graphql/selected-fields.ts';
import type { Notification } from '../notification.entity.ts';
import { NotificationUnion } from '../notification-type.graphql.ts';
import { ReceiptOutcomeEnum } from './answer-enums.graphql.ts';
import { acknowledgeAnswer } from './answer-notification.ts';
import { awaitRequest } from './await-request.ts';
import { RequestType } from './request-type.graphql.ts';

/** The maximum length of the message of a receipt. */
const MAX_MESSAGE_CHARACTERS = 1000;

/** Proxies often end requests after a minute. */
const MAX_WAIT_SECONDS = 55;

builder.queryField('request', (t) =>
  t.field({
    access: {
      ...platform('platform:notifications'),
      otherScopes: ['platform:read'],
      task: { userId: ['userId'] },
    },
    type: RequestType,
    nullable: true,
    description:
      'Returns the request of a notification. With `waitSeconds`, an open request is returned when it is settled, or `OPEN` after this time; repeat the call then. An answer that was given before is returned at once, so none is missed. Fails with `NOT_FOUND` if there is no such notification, or it asks for nothing.',
    args: {
      userId: t.arg.id({ required: true, description: "The user's ID." }),
      notificationId: t.arg.id({ required: true, description: "The notification's ID." }),
      waitSeconds: t.arg.int({
        description: `How long to wait for an open request, 0 to ${MAX_WAIT_SECONDS} seconds. Defaults to 0. A wait must be the only root field of its operation.`,
        validate: wholeNumberRule(0, MAX_WAIT_SECONDS),
      }),
    },
    resolve: async (_root, { userId, notificationId, waitSeconds }, context, info) => {
      if (waitSeconds != null && waitSeconds > 0) requireOnlyField(info, waitSeconds);
      const key = { userId, id: notificationId };
      return awaitRequest(context, key, 1000 * (waitSeconds ?? 0), (request) =>
        requireOwnTask(context.viewer, request),
      );
    },
  }),
);

/** @throws {ValidationError} if the operation selects another root field, which would wait too */
function requireOnlyField({ operation, fragments }: GraphQLResolveInfo, value: number): void {
  const selected = selectedFields(operation.selectionSet, new Map(Object.entries(fragments)));
  const names = new Set(selected.map(({ node: { alias, name } }) => (alias ?? name).value));
  if (names.size === 1) return;
  const message = 'requires that the operation selects no other root field';
  throw new ValidationError([{ path: ['waitSeconds'], message, value }]);
}

const AcknowledgeAnswerInput = builder.inputType('AcknowledgeAnswerInput', {
  description: 'What a task did with an answer.',
  fields: (t) => ({
    userId: t.id({ required: true, description: "The user's ID." }),
    notificationId: t.id({ required: true, description: "The notification's ID." }),
    outcome: t.field({
      type: ReceiptOutcomeEnum,
      required: true,
      description: 'Whether the task could use the answer.',
    }),
    message: t.string(boundedText('An explanation for the user.', MAX_MESSAGE_CHARACTERS)),
  }),
});

const AcknowledgeAnswerPayload = builder
  .objectRef<{ notification: Notification }>('AcknowledgeAnswerPayload')
  .implement({
    description: 'Result of acknowledging an answer.',
    fields: (t) => ({
      notification: t.expose('notification', {
        type: NotificationUnion,
        description: 'The notification, whose `request` has the receipt that was stored first.',
      }),
    }),
  });

builder.mutationField('acknowledgeAnswer', (t) =>
  t.field({
    access: { ...platform('platform:notifications'), task: { userId: ['input', 'userId'] } },
    type: AcknowledgeAnswerPayload,
    nullable: true,
    description:
      'Reports to the user whether the task could use the answer. The first call decides; a later one changes nothing. Fails with `CONFLICT` (`NOT_ANSWERED`) if the request has no answer.',
    args: {
      input: t.arg({
        type: AcknowledgeAnswerInput,
        required: true,
        description: 'What the task did with the answer.',
      }),
    },
    resolve: async (_root, { input }, context) => {
      const { userId, notificationId: id, outcome, message = null } = input;
      const receipt = { outcome, message };
      const admit = (notification: Pick<Notification, 'userId' | 'taskId'>) =>
        requireOwnTask(context.viewer, notification);
      const notification = await acknowledgeAnswer(context, { userId, id }, receipt, admit);
      return { notification };
    },
  }),
);
