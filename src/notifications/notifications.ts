import { defineListsOfUsersRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type Bounds,
  type Listed,
  type OfUsers,
  type Page,
  type PageInput,
  selectCount,
  selectCountsOfUsers,
  selectPage,
  selectPagesOfUsers,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  defineCounts,
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

/** `requestState` decides whether a notification has a `request`. */
const always = ['id', 'kind', 'requestState'] as const;

/** Lists also read what the position of a record consists of. */
const alwaysListed = [...always, 'createdAt'] as const;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<FilterInput & PageInput>) => {
    const userId = params.param('userId');
    const selected = params.selected('Notification', alwaysListed);
    return selectPage(db, params, selectMatching(params, userId), [...alwaysListed, ...selected])
      .$call((page) => selectProperties(page, alwaysListed, selected))
      .$if(params.has('tagged'), (page) => page.select(selectTag(db, 'notifications', userId).as('tag')));
  },
  (input, selected) => mayScanMany(input) || mayBeLarge(input, selected),
);

/** A page of more records is large if it contains payloads or answers: others would wait for its transfer. */
const MAX_SHORT_PAGE = 40;

function mayBeLarge({ limit = 0 }: PageInput, selected?: ReadonlySet<string>): boolean {
  const contents = ['payload', 'answer', 'onExpiry'];
  return limit > MAX_SHORT_PAGE && contents.some((name) => selected?.has(name) ?? true);
}

/** Lists a user's notifications, newest first, with the selected properties. */
export async function listNotifications(
  database: Database,
  userId: string,
  filter: NotificationFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Listed<SelectedNotification>[]> {
  return list(database, { userId, ...toListInput(filter, page) }, selected);
}

function toListInput(filter: NotificationFilter, page: Page) {
  return { ...toFilterInput(filter), ...toPageInput(limitToTimes(page, filter)) };
}

type ListInput = ReturnType<typeof toListInput>;

const listOfUsers = definePageRead(
  (db, params: ReadParams<ListInput & OfUsers>) => {
    const selected = params.selected('Notification', alwaysListed);
    const properties = [...alwaysListed, ...selected];
    return selectPagesOfUsers<'Notification'>(
      db,
      params,
      (userId) => selectMatching(params, userId),
      properties,
    ).$call((page) => selectProperties(page, alwaysListed, selected));
  },
  () => true,
);

type ListQuery = { filter: NotificationFilter; page: Page };

/** Does the same. Reads the lists of several users by one statement. */
export const listNotificationsTogether = defineListsOfUsersRead(
  (database, users, { filter, page }: ListQuery, selected) =>
    listOfUsers(database, { users, ...toListInput(filter, page) }, selected),
);

const count = defineCount((db, params: ReadParams<FilterInput & Bounds>) =>
  selectCount(db, params, selectMatching(params, params.param('userId'))),
);

/** Counts the notifications that match a filter. */
export async function countNotifications(
  database: Database,
  userId: string,
  filter: NotificationFilter,
): Promise<number> {
  return count(database, { userId, ...toListInput(filter, {}) });
}

const countOfUsers = defineCounts((db, params: ReadParams<ListInput & OfUsers>) =>
  selectCountsOfUsers(db, params, (userId) => selectMatching(params, userId)),
);

/** Does the same. Counts for several users by one statement. */
export const countNotificationsTogether = defineListsOfUsersRead(
  (database, users, filter: NotificationFilter) =>
    countOfUsers(database, { users, ...toListInput(filter, {}) }),
);

type Key = { userId: string; id: string };

const find = defineRowRead((db, { param }: ReadParams<Key>) =>
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

const findId = defineRowRead((db, { param }: ReadParams<Key>) =>
  db
    .selectFrom('Notification')
    .select('id')
    .where('userId', '=', param('userId'))
    .where('id', '=', param('id')),
);

/** Whether the user has a notification with this ID. */
export async function hasNotification(database: Database, userId: string, id: string): Promise<boolean> {
  return (await findId(database, { userId, id })) !== undefined;
}
