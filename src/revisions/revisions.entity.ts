import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../database/columns.ts';

export const DatabaseEpochSchema = defineEntity({
  name: 'DatabaseEpoch',
  tableName: 'database_epoch',
  properties: {
    /** Always true, so that the table has one row. */
    isOnly: p.boolean().primary().default(true),
    /** Replaced after a restore, so that revisions from before it are invalid. */
    epoch: p.uuid(),
  },
  checks: [{ name: 'database_epoch_one_row', expression: '"is_only"' }],
});

class DatabaseEpoch extends DatabaseEpochSchema.class {}
DatabaseEpochSchema.setClass(DatabaseEpoch);

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
