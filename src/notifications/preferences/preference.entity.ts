import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, timeColumn } from '../../database/columns.ts';
import { notificationKinds } from '../notification.enums.ts';

export const NotificationPreferenceSchema = defineEntity({
  name: 'NotificationPreference',
  tableName: 'notification_preference',
  properties: {
    userId: idColumn().primary(),
    notificationKind: enumColumn(notificationKinds).primary(),
    emailEnabled: p.boolean(),
    pushEnabled: p.boolean(),
    chatDmEnabled: p.boolean(),
    createdAt: timeColumn(),
    updatedAt: timeColumn(),
  },
});

export class NotificationPreference extends NotificationPreferenceSchema.class {}
NotificationPreferenceSchema.setClass(NotificationPreference);
