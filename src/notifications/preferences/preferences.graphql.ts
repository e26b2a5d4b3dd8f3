import { z } from 'zod';
import { memberRead, memberWrite } from '../../auth/access.ts';
import { builder } from '../../graphql/builder.ts';
import { defineSingletonRef } from '../../graphql/record-ref.ts';
import { maxItems } from '../../graphql/rules.ts';
import { UserRef } from '../../users/user.graphql.ts';
import { NotificationKindEnum } from '../notification-enums.graphql.ts';
import {
  type EffectivePreference,
  findInvalidChanges,
  listPreferences,
  type PreferenceChange,
  updatePreferences,
} from './preferences.ts';

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
  description:
    'The channels for one kind of notification, or for all kinds. At least one channel is required; the others do not change.',
  fields: (t) => ({
    notificationKind: t.field({
      type: NotificationKindEnum,
      description: 'The kind of notification. Defaults to all kinds.',
    }),
    emailEnabled: t.boolean({ description: 'Whether email is enabled. Defaults to the current value.' }),
    pushEnabled: t.boolean({
      description: 'Whether push messages are enabled. Defaults to the current value.',
    }),
    chatDmEnabled: t.boolean({
      description: 'Whether chat direct messages are enabled. Defaults to the current value.',
    }),
  }),
});

const changesSchema = z.custom<PreferenceChange[]>().superRefine((changes, context) => {
  for (const { index, message } of findInvalidChanges(changes))
    context.addIssue({ code: 'custom', path: [index], message });
});

const UpdateNotificationPreferencesInput = builder.inputType('UpdateNotificationPreferencesInput', {
  description: 'Changes of notification preferences.',
  fields: (t) => ({
    preferences: t.field({
      type: [NotificationPreferenceInput],
      required: true,
      description:
        'The changes, at most 100. They are applied in order, so later ones override earlier ones. Those without a kind must not differ.',
      validate: { ...maxItems(100), schema: changesSchema },
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
      "Updates the caller's notification preferences. An item without a kind applies to all kinds. Channels that no item names keep their values.",
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
