import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/columns.ts';

export const UserRevisionSchema = defineEntity({
  name: 'UserRevision',
  tableName: 'user_revision',
  properties: {
    userId: idColumn().primary(),
    /** Raised by every change of one of the user's notifications. */
    notifications: p.bigint('number').default(0),
    /** Raised by every change of one of the user's workspaces. */
    workspaces: p.bigint('number').default(0),
  },
});

export class UserRevision extends UserRevisionSchema.class {}
UserRevisionSchema.setClass(UserRevision);
