import { defineEntity, p } from '@mikro-orm/core';

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
