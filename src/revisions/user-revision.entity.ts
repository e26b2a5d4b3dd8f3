import { defineEntity, p } from '@mikro-orm/core';
import { announce } from '../database/announcements.ts';
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
  triggers: [
    {
      name: 'user_revision_announce',
      timing: 'after',
      events: ['insert', 'update', 'delete'],
      body: [
        "if tg_op = 'DELETE' then",
        announce('user', 'old.user_id'),
        'return null; end if;',
        'if new.notifications <> coalesce(old.notifications, 0) then',
        announce('notifications', 'new.user_id', 'new.notifications'),
        'end if;',
        'if new.workspaces <> coalesce(old.workspaces, 0) then',
        announce('workspaces', 'new.user_id', 'new.workspaces'),
        'end if; return null;',
      ].join(' '),
    },
  ],
});

export class UserRevision extends UserRevisionSchema.class {}
UserRevisionSchema.setClass(UserRevision);
