import { sql } from 'kysely';
import { joinConditions, type Page, type PageInput } from '../database/page.ts';
import {
  type BranchInput,
  defineListAcrossUsers,
  newestFirst,
  scanBranches,
} from '../database/page-across-users.ts';
import type { ReadParams } from '../database/read.ts';
import { type FilterInput, selectBranch, toBranchFilter } from '../notifications/all-notifications.ts';
import type { DeliveryChannel } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import type { ShownDeliveryState } from './delivery.enums.ts';
import { SEPARATOR, type ShownDelivery, selectShown, shownProperties } from './shown-deliveries.ts';

/** A filter of the deliveries of all users. An omitted list or null matches everything, an empty list nothing. */
export type PlatformDeliveryFilter = {
  states?: readonly ShownDeliveryState[] | null | undefined;
  channels?: readonly DeliveryChannel[] | null | undefined;
  userIds?: readonly string[] | null | undefined;
  /** Published at this time or later. */
  since: Time;
};

type ListInput = FilterInput &
  PageInput &
  BranchInput & {
    afterNotification: string | undefined;
    states: readonly ShownDeliveryState[] | undefined;
    channels: readonly DeliveryChannel[] | undefined;
  };

function toFilterInput({ states, channels, userIds, since }: PlatformDeliveryFilter, { after }: Page) {
  const { input, branches } = toBranchFilter({ userIds, since });
  const isEmpty = states?.length === 0 || channels?.length === 0;
  return {
    input: {
      ...input,
      afterNotification: after?.id?.split(SEPARATOR).at(0),
      states: states ?? undefined,
      channels: channels ?? undefined,
    },
    // Notifications may have no deliveries, so any page checks them.
    branches: { ...branches, isChecked: true, ...(isEmpty && { branches: [] }) },
  };
}

/**
 * Selects the deliveries of the notifications that a page scans. They have the same `createdAt`, so that deliveries need
 * no index of their own. The last notification of a scan is followed by a row without a delivery, whose ID is that of the
 * notification and sorts after its deliveries.
 */
function selectDeliveries(params: ReadParams<ListInput>) {
  const { param, has } = params;
  const { ref } = sql;
  const notification = sql`(${ref('createdAt')}, ${ref('userId')}, id)`;
  const delivery = sql`(${ref('scanned.createdAt')}, ${ref('scanned.userId')}, delivery.id)`;
  const after = sql`${param('afterTime')}, ${param('afterUser')}`;
  const isInBounds = sql<boolean>`${notification} > (${param('beforeTime')}, ${param('beforeUser')}, ${param('beforeId')})
    and ${has('afterId') ? sql`${notification} <= (${after}, ${param('afterNotification')})` : sql`true`}`;
  const conditions = joinConditions([
    has('states') && sql`shown.state = any(${param('states')})`,
    has('channels') && sql`shown.channel = any(${param('channels')})`,
  ]);
  const noDelivery = shownProperties.map((name) => (name === 'shown.id' ? sql`scanned.id` : sql`null`));
  return sql<ShownDelivery & { isMatch: boolean; isScanEnd: boolean }>`(
    select ${ref('scanned.userId')}, scanned.id as ${ref('notificationId')}, ${ref('scanned.createdAt')}, delivery.*
    from ${scanBranches(params, selectBranch(params), isInBounds)} as scanned
    cross join lateral (
      select ${sql.join(shownProperties.map((name) => ref(name)))}, true as "isMatch", false as "isScanEnd"
      from ${sql.table('Notification')} as notified cross join lateral ${selectShown('notified')} as shown
      where ${ref('notified.userId')} = ${ref('scanned.userId')} and notified.id = scanned.id
        and ${conditions ?? sql`true`}
      union all select ${sql.join(noDelivery)}, false, true where scanned."isScanEnd"
    ) as delivery
    where ${has('afterId') ? sql`${delivery} < (${after}, ${param('afterId')})` : sql`true`})`;
}

/** The deliveries of all users. */
export const allDeliveries = defineListAcrossUsers({
  toInput: toFilterInput,
  selectPage: (db, params: ReadParams<ListInput>) =>
    db
      .selectFrom(selectDeliveries(params).as('shown'))
      .select(['userId', 'notificationId', 'createdAt', 'isMatch', 'isScanEnd'])
      .select(shownProperties)
      .orderBy(newestFirst)
      .limit(params.param('limit')),
  selectCount: (db, params) =>
    db
      .selectFrom((eb) =>
        eb
          .selectFrom(selectDeliveries(params).as('shown'))
          .select('isMatch')
          .where('isMatch', '=', sql.lit(true))
          .limit(params.param('limit'))
          .as('counted'),
      )
      .select((eb) => eb.fn.countAll<number>().as('count')),
  maxChecked: 20_000,
});
