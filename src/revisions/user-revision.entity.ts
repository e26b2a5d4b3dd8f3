import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/columns.ts';

export const UserRevisionSchema = defineEntity({
  name: 'UserRevision',
  tableName: 'user_revision',
  properties: {
    userId: idColumn().primary(),
    /** New when a deleted user's row is created again, so that revisions from before and after never mix. */
    epoch: p.uuid().defaultRaw('gen_random_uuid()'),
    /** Raised by every change of one of the user's notifications. */
    notifications: p.bigint('number').default(0),
    /** Raised by every change of one of the user's workspaces. */
    workspaces: p.bigint('number').default(0),
    /** Raised by every change of the user's editor credential. */
    editorAuth: p.bigint('number').default(0),
  },
});

export class UserRevision extends UserRevisionSchema.class {}
UserRevisionSchema.setClass(UserRevision);
