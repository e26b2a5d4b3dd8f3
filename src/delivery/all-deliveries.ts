import { sql } from 'kysely';
import { type Database, getKysely } from '../database/database.ts';
import { joinConditions, MAX_COUNT, type Page } from '../database/page.ts';
import { newestFirst, scanBranches, toCountPage, toRow, toScan } from '../database/page-across-users.ts';
import { toNotificationList } from '../notifications/all-notifications.ts';
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

/**
 * Selects the deliveries of the notifications that a page scans. They have the same `createdAt`, so that deliveries need
 * no index of their own. The last notification of a scan is followed by a row without a delivery, whose ID is that of the
 * notification and sorts after its deliveries. Notifications may have no deliveries, so any page checks them.
 */
function selectDeliveries({ states, channels, userIds, since }: PlatformDeliveryFilter, page: Page) {
  const isEmpty = states?.length === 0 || channels?.length === 0;
  const list = toNotificationList({ userIds: isEmpty ? [] : userIds, since });
  const scan = toScan(page, list, true);
  const { after, before } = scan;
  const { ref } = sql;
  const notification = sql`(${ref('createdAt')}, ${ref('userId')}, id)`;
  const delivery = sql`(${ref('scanned.createdAt')}, ${ref('scanned.userId')}, delivery.id)`;
  const last = after && { ...after, id: after.id.split(SEPARATOR).at(0) ?? '' };
  const isInBounds = sql<boolean>`${before ? sql`${notification} > ${toRow(before)}` : sql`true`}
    and ${last ? sql`${notification} <= ${toRow(last)}` : sql`true`}`;
  const conditions = joinConditions([
    states != null && sql`shown.state = any(${states}::text[])`,
    channels != null && sql`shown.channel = any(${channels}::text[])`,
  ]);
  const noDelivery = shownProperties.map((name) => (name === 'shown.id' ? sql`scanned.id` : sql`null`));
  const found = sql<ShownDelivery & { isMatch: boolean; isScanEnd: boolean }>`(
    select ${ref('scanned.userId')}, scanned.id as ${ref('notificationId')}, ${ref('scanned.createdAt')}, delivery.*
    from ${scanBranches(list, scan, isInBounds)} as scanned
    cross join lateral (
      select ${sql.join(shownProperties.map((name) => ref(name)))}, true as "isMatch", false as "isScanEnd"
      from ${sql.table('Notification')} as notified cross join lateral ${selectShown('notified')} as shown
      where ${ref('notified.userId')} = ${ref('scanned.userId')} and notified.id = scanned.id
        and ${conditions ?? sql`true`}
      union all select ${sql.join(noDelivery)}, false, true where scanned."isScanEnd"
    ) as delivery
    where ${after ? sql`${delivery} < ${toRow(after)}` : sql`true`})`;
  return found.as('shown');
}

/** Lists the deliveries of all users, newest notifications first. */
export function listAllDeliveries(database: Database, filter: PlatformDeliveryFilter, page: Page) {
  return getKysely(database.fork())
    .selectFrom(selectDeliveries(filter, page))
    .select(['userId', 'notificationId', 'createdAt', 'isMatch', 'isScanEnd'])
    .select(shownProperties)
    .orderBy(newestFirst)
    .limit(page.limit ?? 0)
    .execute();
}

/** How many notifications a count checks at most. */
export const MAX_CHECKED = 20_000;

/** Counts the deliveries of all users, up to {@link MAX_COUNT}. */
export async function countAllDeliveries(
  database: Database,
  filter: PlatformDeliveryFilter,
): Promise<number> {
  const deliveries = selectDeliveries(filter, toCountPage(MAX_CHECKED));
  const { count } = await getKysely(database.fork())
    .selectFrom((eb) =>
      eb
        .selectFrom(deliveries)
        .select('isMatch')
        .where('isMatch', '=', sql.lit(true))
        .limit(MAX_COUNT)
        .as('counted'),
    )
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow();
  return count;
}
