import { defineEntity, p } from '@mikro-orm/core';
import { enumColumn, idColumn, timeColumn } from '../../database/columns.ts';
import { notificationKinds } from '../notification.enums.ts';

export const PreferenceSchema = defineEntity({
  name: 'Preference',
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

export class Preference extends PreferenceSchema.class {}
PreferenceSchema.setClass(Preference);
