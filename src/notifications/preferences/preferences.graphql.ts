import { memberRead, memberWrite } from '../../auth/access.ts';
import { builder } from '../../graphql/builder.ts';
import { maxItems } from '../../graphql/rules.ts';
import { userArgument } from '../../graphql/user-argument.ts';
import { NotificationKindEnum } from '../notification-enums.graphql.ts';
import { type EffectivePreference, listPreferences, updatePreferences } from './preferences.ts';

const NotificationPreference = builder.objectRef<EffectivePreference>('NotificationPreference').implement({
  description: 'The channels that notifications of one kind may take. They stand in the inbox in any case.',
  fields: (t) => ({
    notificationKind: t.expose('notificationKind', { type: NotificationKindEnum, description: 'The kind.' }),
    emailEnabled: t.exposeBoolean('emailEnabled', { description: 'Whether electronic mail is on.' }),
    pushEnabled: t.exposeBoolean('pushEnabled', { description: 'Whether push messages are on.' }),
    chatDmEnabled: t.exposeBoolean('chatDmEnabled', {
      description: 'Whether direct messages in the chat are on.',
    }),
    userId: t.exposeID('userId', { description: 'The user who owns the preference.' }),
    createdAt: t.expose('createdAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When it was first stored; null while the default applies.',
    }),
    updatedAt: t.expose('updatedAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When a channel last changed; null while the default applies.',
    }),
  }),
});

builder.queryField('notificationPreferences', (t) =>
  t.field({
    access: memberRead,
    type: [NotificationPreference],
    nullable: true,
    description: 'The preferences for every kind. Kinds that were never stored have all channels on.',
    args: { userId: t.arg.id(userArgument) },
    resolve: (_root, { userId }, { em, viewer }) => listPreferences(em, userId ?? viewer.userId),
  }),
);

const NotificationPreferenceInput = builder.inputType('NotificationPreferenceInput', {
  description: 'Channels for one kind, or for all.',
  fields: (t) => ({
    notificationKind: t.field({
      type: NotificationKindEnum,
      description: 'The kind; every kind unless told.',
    }),
    emailEnabled: t.boolean({ required: true, description: 'Whether electronic mail is on.' }),
    pushEnabled: t.boolean({ required: true, description: 'Whether push messages are on.' }),
    chatDmEnabled: t.boolean({ required: true, description: 'Whether direct messages in the chat are on.' }),
  }),
});

const UpdateNotificationPreferencesInput = builder.inputType('UpdateNotificationPreferencesInput', {
  description: 'Changes, applied in order.',
  fields: (t) => ({
    preferences: t.field({
      type: [NotificationPreferenceInput],
      required: true,
      description: 'Up to 100 items; later ones override earlier ones.',
      validate: maxItems(100),
    }),
  }),
});

const UpdateNotificationPreferencesPayload = builder
  .objectRef<{ preferences: EffectivePreference[] }>('UpdateNotificationPreferencesPayload')
  .implement({
    description: 'The preferences for every kind after the change.',
    fields: (t) => ({
      preferences: t.expose('preferences', { type: [NotificationPreference], description: 'All of them.' }),
    }),
  });

builder.mutationField('updateNotificationPreferences', (t) =>
  t.field({
    access: memberWrite,
    type: UpdateNotificationPreferencesPayload,
    nullable: true,
    description: 'Sets channels. Kinds that nothing is said of keep what they had.',
    args: {
      input: t.arg({ type: UpdateNotificationPreferencesInput, required: true, description: 'The changes.' }),
    },
    resolve: async (_root, { input }, { em, viewer, now }) => ({
      preferences: await updatePreferences(em, viewer.userId, input.preferences, now),
    }),
  }),
);
