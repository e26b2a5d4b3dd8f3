import { defineEntity, p } from '@mikro-orm/core';
import { timeColumn } from '../database/columns.ts';
import type { ShownDeliveryState } from '../delivery/delivery.enums.ts';
import type { NotificationKind, NotificationStatus } from '../notifications/notification.enums.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { WorkspaceStatus } from '../workspaces/workspace.enums.ts';

/** The numbers of the records of all users. Groups without records are omitted. */
export type Counts = {
  notifications: { kind: NotificationKind; status: NotificationStatus; count: number }[];
  workspaces: { status: WorkspaceStatus; count: number }[];
  /** Stored pairs by the key that encrypts them. */
  editorCredentials: { keyId: string; needsReauth: boolean; count: number }[];
  deliveries: { channel: DeliveryChannel; state: ShownDeliveryState; count: number }[];
};

export const StatisticsSchema = defineEntity({
  name: 'Statistics',
  tableName: 'statistics',
  properties: {
    /** Always true, so that the table has one row. */
    isOnly: p.boolean().primary().default(true),
    /** Null until all records were counted once, as `asOf`. */
    counts: p.json<Counts>().strictNullable(),
    /** The counts are those of the changes that were committed before this time. */
    asOf: timeColumn().strictNullable(),
    /** When the records are counted next. The process that counts them postpones it first, so that no other does. */
    dueAt: timeColumn().defaultRaw('now()'),
  },
  checks: [{ name: 'statistics_one_row', expression: '"is_only"' }],
});

class Statistics extends StatisticsSchema.class {}
StatisticsSchema.setClass(Statistics);
