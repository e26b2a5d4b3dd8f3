import type { Database } from '../database/database.ts';
import {
  type Bounds,
  countMatching,
  isBetween,
  type Page,
  type PageInput,
  selectPage,
  type Tagged,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  definePageRead,
  defineRowRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Notification } from './notification.entity.ts';
import {
  type FilterInput,
  hasFilter,
  limitToTimes,
  type NotificationFilter,
  toCombinations,
  toFilterInput,
} from './notification-filter.ts';

const always = ['id', 'kind'] as const;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead((db, params: ReadParams<FilterInput & PageInput>) => {
  const { param, has, selected } = params;
  const all = db
    .selectFrom('Notification')
    .$call((all) => selectProperties(all, always, selected('Notification', always)))
    .where('userId', '=', param('userId'))
    .$if(has('tagged'), (all) => all.select(selectTag(db, 'notifications', param('userId')).as('tag')));
  return selectPage(all, params, hasFilter(params) ? toCombinations(params) : undefined);
});

/** Lists a user's notifications, newest first, with the selected properties. */
export async function listNotifications(
  database: Database,
  userId: string,
  filter: NotificationFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Tagged<SelectedNotification>[]> {
  return list(
    database,
    { ...toFilterInput(userId, filter), ...toPageInput(limitToTimes(page, filter)) },
    selected,
  );
}

const count = defineCount((db, params: ReadParams<FilterInput & Bounds>) =>
  hasFilter(params)
    ? db.selectNoFrom(countMatching(toCombinations(params), isBetween(params)).as('count'))
    : db
        .selectFrom('Notification')
        .where('userId', '=', params.param('userId'))
        .where(isBetween(params))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Counts the notifications that match a filter. */
export async function countNotifications(
  database: Database,
  userId: string,
  filter: NotificationFilter,
): Promise<number> {
  return count(database, { ...toFilterInput(userId, filter), ...toPageInput(limitToTimes({}, filter)) });
}

const find = defineRowRead((db, { param }: ReadParams<{ userId: string; id: string }>) =>
  db
    .selectFrom('Notification')
    .selectAll()
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id')),
);

/** Finds a notification by ID. @throws {NotFoundError} if the user has no such notification */
export async function findNotification(
  database: Database,
  userId: string,
  id: string,
): Promise<Notification> {
  const notification = await find(database, { userId, id });
  if (notification === undefined) throw new NotFoundError();
  return notification;
}
