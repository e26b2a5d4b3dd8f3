import { defineEntity, p } from '@mikro-orm/core';
import { idColumn, timeColumn } from '../database/columns.ts';
import type { Counts } from './counts.ts';

export const StatisticsSchema = defineEntity({
  name: 'Statistics',
  tableName: 'statistics',
  properties: {
    /** Always true, so that the table has one row. */
    isOnly: p.boolean().primary().default(true),
    /** The sums of the counts of all users. */
    counts: p.json<Counts>().defaultRaw(`'{}'`),
    /** `counts` include all changes that were committed before this time. Null until all users were counted once. */
    asOf: timeColumn().strictNullable(),
    /** When the current sweep began. Null between two sweeps. */
    sweepStartedAt: timeColumn().strictNullable(),
    /** The current sweep has counted the users up to this ID. */
    sweptTo: idColumn().default(''),
    /** When the next step of a sweep is due. */
    dueAt: timeColumn().defaultRaw('now()'),
  },
  checks: [{ name: 'statistics_one_row', expression: '"is_only"' }],
});

class Statistics extends StatisticsSchema.class {}
StatisticsSchema.setClass(Statistics);
