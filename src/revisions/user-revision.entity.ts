import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/columns.ts';

export const UserRevisionSchema = defineEntity({
  name: 'UserRevision',
  tableName: 'user_revision',
  properties: {
    userId: idColumn().primary(),
    /** Differs after the user was deleted, so that revisions from before the deletion are invalid. */
    epoch: p.uuid().defaultRaw('gen_random_uuid()'),
    /** Incremented by every change of one of the user's notifications. */
    notifications: p.bigint('number').default(0),
    /** Incremented by every change of one of the user's workspaces. */
    workspaces: p.bigint('number').default(0),
    /** Incremented by every change of the user's editor credential. */
    editorAuth: p.bigint('number').default(0),
  },
});

export class UserRevision extends UserRevisionSchema.class {}
UserRevisionSchema.setClass(UserRevision);
