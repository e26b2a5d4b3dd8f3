import { type RawBuilder, sql } from 'kysely';
import { selectSkipped } from '../notifications/channel-decision.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import type { Time } from '../values/time.ts';
import type { Delivery } from './delivery.entity.ts';
import type { ShownDeliveryReason, ShownDeliveryState } from './delivery.enums.ts';

/** The state that is shown. A delivered message stays delivered while it is updated. */
export const shownState: RawBuilder<ShownDeliveryState> = sql`case when step = 'update' then 'delivered'
  when ${sql.ref('mayBeDelivered')} and state in ('cancelled', 'failed') then 'maybe_delivered' else state end`;

/** What is shown of a delivery, besides its notification. `target` is empty except for push. */
type Shown = Pick<Delivery, 'channel' | 'target' | 'attempts' | 'providerCode' | 'updatedAt'> & {
  state: ShownDeliveryState;
  reason: ShownDeliveryReason | null;
  dueAt: Time | null;
  deliveredAt: Time | null;
};

/** A delivery as it is shown. `createdAt` is when its notification was published. */
export type ShownDelivery = Pick<Notification, 'userId' | 'createdAt'> & { notificationId: string } & Shown;

/** The properties of the rows of {@link selectShown}. */
export const shownProperties = (
  [
    'channel',
    'target',
    'attempts',
    'providerCode',
    'updatedAt',
    'deliveredAt',
    'state',
    'reason',
    'dueAt',
  ] as const
).map((name) => `shown.${name}` as const);

/**
 * Selects, for a row of `Notification` in the same `from` clause, its deliveries, and a skipped one for each channel that
 * was skipped when it was published and has none. `dueAt` is null unless the delivery waits for an attempt.
 */
export function selectShown(notification: string): RawBuilder<Shown> {
  const column = <Value>(name: string) => sql.ref<Value>(`${notification}.${name}`);
  const deliveries = sql`${sql.table('Delivery')} where ${sql.ref('Delivery.userId')} = ${column('userId')}
    and ${sql.ref('Delivery.notificationId')} = ${column('id')}`;
  const { ref } = sql;
  return sql`(
    select channel, target, attempts, ${ref('providerCode')}, ${ref('Delivery.updatedAt')}, ${ref('deliveredAt')},
      ${shownState} as state, reason,
      case when state = 'pending' and step = 'message' then ${ref('dueAt')} end as ${ref('dueAt')}
    from ${deliveries}
    union all
    select channel, '', 0, null, ${column('createdAt')}, null, 'skipped', reason, null
    from ${selectSkipped(column<number | null>('skippedChannels'))} as skipped
    where not exists (select from ${deliveries} and ${ref('Delivery.channel')} = skipped.channel))`;
}
