import { accountWrite } from '../auth/access.ts';
import { builder } from '../graphql/builder.ts';
import { idRule, maxItems } from '../graphql/rules.ts';
import { parseChangeCursor } from '../revisions/change-cursor.ts';
import { type DismissFilter, dismissNotifications } from './dismiss-notifications.ts';
import type { Notification } from './notification.entity.ts';
import { NotificationUnion } from './notification.graphql.ts';
import { NotificationKindEnum } from './notification-enums.graphql.ts';

const DismissFilterInput = builder.inputType('DismissNotificationsFilter', {
  description: 'Active notifications that the user can have seen.',
  fields: (t) => ({
    kinds: t.field({
      type: [NotificationKindEnum],
      description: 'Only these kinds; all unless told.',
      validate: maxItems(100),
    }),
    projectId: t.id({ description: 'Only of this project.' }),
    upTo: t.string({
      required: true,
      description: 'The newest cursor that the user has seen; what changed after it is not dismissed.',
    }),
  }),
});

const DismissNotificationsInput = builder.inputType('DismissNotificationsInput', {
  description: 'Which notifications to dismiss.',
  isOneOf: true,
  fields: (t) => ({
    ids: t.idList({
      description: 'Up to 100 ids; unknown ones and those of others are passed over.',
      validate: { ...maxItems(100), items: idRule },
    }),
    filter: t.field({ type: DismissFilterInput, description: 'Those that the user can have seen.' }),
  }),
});

const DismissNotificationsPayload = builder
  .objectRef<{ notifications: Notification[] }>('DismissNotificationsPayload')
  .implement({
    description: 'The notifications that were dismissed now; those that already were are left out.',
    fields: (t) => ({
      notifications: t.expose('notifications', {
        type: [NotificationUnion],
        description: 'As they are now.',
      }),
    }),
  });

builder.mutationField('dismissNotifications', (t) =>
  t.field({
    access: accountWrite,
    type: DismissNotificationsPayload,
    nullable: true,
    description: 'Puts many notifications away at once.',
    args: { input: t.arg({ type: DismissNotificationsInput, required: true, description: 'Which ones.' }) },
    resolve: async (_root, { input: { ids, filter } }, context) => {
      const { viewer, now } = context;
      const chosen = filter ? seenBy(filter) : { ids: ids ?? [] };
      return { notifications: await dismissNotifications(context, viewer.userId, chosen, now) };
    },
  }),
);

function seenBy({
  kinds = null,
  projectId = null,
  upTo,
}: typeof DismissFilterInput.$inferInput): DismissFilter {
  return { kinds, projectId, upTo: parseChangeCursor(upTo, ['input', 'filter', 'upTo']) };
}
