import { type RawBuilder, sql } from 'kysely';
import { selectSkipped } from '../notifications/channel-decision.ts';
import type { Notification } from '../notifications/notification.entity.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import { isId } from '../values/text.ts';
import type { Time } from '../values/time.ts';
import type { Delivery } from './delivery.entity.ts';
import type { ShownDeliveryReason, ShownDeliveryState } from './delivery.enums.ts';

/** The state that is shown. A delivered message stays delivered while it is updated. */
export const shownState: RawBuilder<ShownDeliveryState> = sql`case when step = 'update' then 'delivered'
  when ${sql.ref('mayBeDelivered')} and state in ('cancelled', 'failed') then 'maybe_delivered' else state end`;

/** What is shown of a delivery, besides its notification. `target` is empty except for push. */
type Shown = { id: string } & Pick<
  Delivery,
  'channel' | 'target' | 'attempts' | 'providerCode' | 'updatedAt'
> & {
    state: ShownDeliveryState;
    reason: ShownDeliveryReason | null;
    dueAt: Time | null;
    deliveredAt: Time | null;
  };

/** Separates the parts of the ID of a shown delivery. IDs have no control characters, so it sorts before them. */
export const SEPARATOR = '\u0001';

/** Whether a text can be the ID of a shown delivery, or of a notification, at which a scan can end. */
export function isShownId(text: string): boolean {
  const [notificationId = '', channel, target = '', ...others] = text.split(SEPARATOR);
  const isChannel = channel === undefined || deliveryChannels.some((name) => name === channel);
  return isId(notificationId) && isChannel && (target === '' || isId(target)) && others.length === 0;
}

/**
 * A delivery as it is shown. `id` identifies it among the user's deliveries, for cursors. `createdAt` is when its
 * notification was published.
 */
export type ShownDelivery = Pick<Notification, 'userId' | 'createdAt'> & { notificationId: string } & Shown;

/** The properties of the rows of {@link selectShown}. */
export const shownProperties = (
  [
    'id',
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
  const toId = (target: string) =>
    sql`(${column('id')} || chr(1) || channel || chr(1) || ${sql.raw(target)}) collate "C"`;
  return sql`(
    select ${toId('target')} as id, channel, target, attempts, ${ref('providerCode')}, ${ref('Delivery.updatedAt')}, ${ref('deliveredAt')},
      ${shownState} as state, reason,
      case when state = 'pending' and step = 'message' then ${ref('dueAt')} end as ${ref('dueAt')}
    from ${deliveries}
    union all
    select ${toId("''")}, channel, '', 0, null, ${column('createdAt')}, null, 'skipped', reason, null
    from ${selectSkipped(column<number>('skippedChannels'))} as skipped
    where not exists (select from ${deliveries} and ${ref('Delivery.channel')} = skipped.channel))`;
}
