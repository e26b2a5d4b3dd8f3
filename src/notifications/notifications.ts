import type { Database } from '../database/database.ts';
import {
  type Bounds,
  type Listed,
  type Page,
  type PageInput,
  selectCount,
  selectPage,
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
  limitToTimes,
  mayScanMany,
  type NotificationFilter,
  selectMatching,
  toFilterInput,
} from './notification-filter.ts';

const always = ['id', 'kind'] as const;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead((db, params: ReadParams<FilterInput & PageInput>) => {
  const { param, has, selected } = params;
  return selectPage(db, params, selectMatching(params))
    .$call((page) => selectProperties(page, always, selected('Notification', always)))
    .$if(has('tagged'), (page) => page.select(selectTag(db, 'notifications', param('userId')).as('tag')));
}, mayScanMany);

/** Lists a user's notifications, newest first, with the selected properties. */
export async function listNotifications(
  database: Database,
  userId: string,
  filter: NotificationFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedNotification>[]> {
  return list(
    database,
    { ...toFilterInput(userId, filter), ...toPageInput(limitToTimes(page, filter)) },
    selected,
  );
}

const count = defineCount((db, params: ReadParams<FilterInput & Bounds>) =>
  selectCount(db, params, selectMatching(params)),
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
