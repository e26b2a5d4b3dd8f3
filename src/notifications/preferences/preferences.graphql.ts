import { memberRead, memberWrite } from '../../auth/access.ts';
import { builder } from '../../graphql/builder.ts';
import { defineSingletonRef } from '../../graphql/record-ref.ts';
import { maxItems } from '../../graphql/rules.ts';
import { UserRef } from '../../users/user.graphql.ts';
import { NotificationKindEnum } from '../notification-enums.graphql.ts';
import { type EffectivePreference, listPreferences, updatePreferences } from './preferences.ts';

const NotificationPreference = builder.objectRef<EffectivePreference>('NotificationPreference').implement({
  description:
    'The channels over which a user receives notifications of one kind. They do not affect the inbox.',
  fields: (t) => ({
    notificationKind: t.expose('notificationKind', {
      type: NotificationKindEnum,
      description: 'The kind of notification.',
    }),
    emailEnabled: t.exposeBoolean('emailEnabled', { description: 'Whether email is enabled.' }),
    pushEnabled: t.exposeBoolean('pushEnabled', { description: 'Whether push messages are enabled.' }),
    chatDmEnabled: t.exposeBoolean('chatDmEnabled', {
      description: 'Whether chat direct messages are enabled.',
    }),
    ref: t.field(defineSingletonRef<EffectivePreference>('NotificationPreference', 'notificationKind')),
    userId: t.exposeID('userId', { description: 'The ID of the user who owns the preference.' }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of creation. `null` if the preference was never stored.',
    }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'Timestamp of the last change of a channel. `null` if the preference was never stored.',
    }),
  }),
});

export const notificationPreferencesField = 'notificationPreferences';

builder.queryField(notificationPreferencesField, (t) =>
  t.field({
    access: memberRead,
    type: [NotificationPreference],
    nullable: true,
    description:
      "Returns the caller's preferences for all kinds. All channels of a kind are enabled until its preference is stored.",
    resolve: (_root, _args, { database, viewer }) => listPreferences(database, viewer.userId),
  }),
);

builder.objectField(UserRef, notificationPreferencesField, (t) =>
  t.field({
    access: memberRead,
    type: [NotificationPreference],
    nullable: true,
    description: "The user's preferences for all kinds, including those that were never stored.",
    resolve: ({ userId }, _args, { database }) => listPreferences(database, userId),
  }),
);

const NotificationPreferenceInput = builder.inputType('NotificationPreferenceInput', {
  description: 'The channels for one kind of notification, or for all kinds.',
  fields: (t) => ({
    notificationKind: t.field({
      type: NotificationKindEnum,
      description: 'The kind of notification. Defaults to all kinds.',
    }),
    emailEnabled: t.boolean({ required: true, description: 'Whether email is enabled.' }),
    pushEnabled: t.boolean({ required: true, description: 'Whether push messages are enabled.' }),
    chatDmEnabled: t.boolean({
      required: true,
      description: 'Whether chat direct messages are enabled.',
    }),
  }),
});

const UpdateNotificationPreferencesInput = builder.inputType('UpdateNotificationPreferencesInput', {
  description: 'Changes of notification preferences.',
  fields: (t) => ({
    preferences: t.field({
      type: [NotificationPreferenceInput],
      required: true,
      description:
        'The changes, at most 100. They are applied in order, so later ones override earlier ones.',
      validate: maxItems(100),
    }),
  }),
});

const UpdateNotificationPreferencesPayload = builder
  .objectRef<{ preferences: EffectivePreference[] }>('UpdateNotificationPreferencesPayload')
  .implement({
    description: 'Result of updating notification preferences.',
    fields: (t) => ({
      preferences: t.expose('preferences', {
        type: [NotificationPreference],
        description: 'The preferences for all kinds.',
      }),
    }),
  });

export const updateNotificationPreferencesField = 'updateNotificationPreferences';

builder.mutationField(updateNotificationPreferencesField, (t) =>
  t.field({
    access: memberWrite,
    type: UpdateNotificationPreferencesPayload,
    nullable: true,
    description:
      "Updates the caller's notification preferences. An item without a kind applies to all kinds. Kinds to which no item applies keep their channels.",
    args: {
      input: t.arg({
        type: UpdateNotificationPreferencesInput,
        required: true,
        description: 'The changes to apply.',
      }),
    },
    resolve: async (_root, { input }, context) => ({
      preferences: await updatePreferences(context, context.viewer.userId, input.preferences, context.now),
    }),
  }),
);
