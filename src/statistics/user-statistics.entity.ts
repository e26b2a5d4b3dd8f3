import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timeColumn } from '../database/columns.ts';
import type { Counts } from './counts.ts';

export const UserStatisticsSchema = defineEntity({
  name: 'UserStatistics',
  tableName: 'user_statistics',
  properties: {
    userId: idColumn().primary(),
    /** The epoch and the revisions of the user to which the counts belong. */
    epoch: p.uuid(),
    notifications: p.bigint('number'),
    workspaces: p.bigint('number'),
    editorAuth: p.bigint('number'),
    counts: p.json<Counts>(),
    /** Whether the counts can change only together with a revision. */
    isSettled: p.boolean(),
    /** When all records of the user were last counted. */
    countedAt: timeColumn(),
  },
});

export class UserStatistics extends UserStatisticsSchema.class {}
UserStatisticsSchema.setClass(UserStatistics);
