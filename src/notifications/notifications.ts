import { type RawBuilder, sql } from 'kysely';
import { defineListsOfUsersRead, defineTextsRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type Bounds,
  isAmong,
  type Listed,
  type OfUsers,
  type Page,
  type PageInput,
  selectCount,
  selectCountsOfUsers,
  selectPage,
  selectPagesOfUsers,
  type TextsInput,
  textBytes,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
  defineCounts,
  defineLargeRead,
  definePageRead,
  defineRowRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { selectTag } from '../revisions/revisions.ts';
import { measureJson } from '../values/json.ts';
import type { Notification } from './notification.entity.ts';
import {
  type FilterInput,
  limitToTimes,
  mayScanMany,
  type NotificationFilter,
  selectMatching,
  toFilterInput,
} from './notification-filter.ts';
import type { NotificationPayload } from './payload.ts';

/** `requestState` decides whether a notification has a `request`. */
const always = ['id', 'kind', 'requestState'] as const;

/** Lists also read what the position of a record consists of. */
const alwaysListed = [...always, 'createdAt'] as const;

/** The sizes of the long texts of a notification. */
export const textSizes = {
  // Gateways before version 0.3.0 stored no size. Few payloads take more than four times their text in memory.
  payload: sql<number>`coalesce(${sql.ref('payloadSize')}, 4 * octet_length(payload::text))`,
  previewText: textBytes('previewText'),
  prUrl: textBytes('prUrl'),
  projectRepoUrl: textBytes('projectRepoUrl'),
  answer: sql<number>`coalesce(octet_length(answer::text), 0)`,
  onExpiry: sql<number>`coalesce(octet_length(${sql.ref('onExpiry')}::text), 0)`,
} satisfies Partial<Record<keyof Notification, RawBuilder<number>>>;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<FilterInput & PageInput>) => {
    const userId = params.param('userId');
    const selected = params.selected('Notification', alwaysListed);
    return selectPage(db, params, selectMatching(params, userId), [...alwaysListed, ...selected], textSizes)
      .$call((page) => selectProperties(page, alwaysListed, selected))
      .$if(params.has('tagged'), (page) => page.select(selectTag(db, 'notifications', userId).as('tag')));
  },
  textSizes,
  mayScanMany,
);

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
      textSizes,
    ).$call((page) => selectProperties(page, alwaysListed, selected));
  },
  textSizes,
  () => true,
);

type ListQuery = { filter: NotificationFilter; page: Page };

/** Does the same. Reads the lists of several users by one statement. */
export const listNotificationsTogether = defineListsOfUsersRead(
  (database, users, { filter, page }: ListQuery, selected) =>
    listOfUsers(database, { users, ...toListInput(filter, page) }, selected),
);

/** Reads the selected long texts of notifications of several users: `users[i]` owns `ids[i]`. */
export const readNotificationTextsOfUsers = defineLargeRead((db, params: ReadParams<TextsInput>) => {
  const texts = params
    .selected('Notification', ['userId', 'id'])
    .filter((name) => Object.hasOwn(textSizes, name));
  return selectProperties(db.selectFrom('Notification'), ['userId', 'id'], texts).where(
    isAmong(params, 'text'),
  );
});

/** Reads the selected long texts of a user's notifications. Concurrent calls become one statement. */
export const readNotificationTexts = defineTextsRead(readNotificationTextsOfUsers);

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

/** A reply with larger notifications waits until it may be large, because it can contain many of them, and many times. */
const LARGE_BYTES = 64 * 1024;

/** The size of what can be large in a notification. */
const largeBytes = sql<number>`(${textSizes.payload} + ${textSizes.answer} + ${textSizes.onExpiry})`;

const findWithoutLargePayload = defineRowRead((db, params: ReadParams<Key>) =>
  db
    .selectFrom('Notification')
    .select(params.selected('Notification', ['payload']))
    .select([
      sql<NotificationPayload | null>`case when ${largeBytes} <= ${LARGE_BYTES} then payload end`.as(
        'payload',
      ),
      largeBytes.as('payloadBytes'),
    ])
    .where('userId', '=', params.param('userId'))
    .where('id', '=', params.param('id')),
);

/**
 * Finds a notification by ID, for a reply. Calls `admit` with the size of a large one before it reads it.
 * @throws {NotFoundError} if the user has no such notification
 */
export async function findForReply(
  database: Database,
  userId: string,
  id: string,
  admit: (bytes: number) => Promise<unknown>,
): Promise<Notification> {
  const found = await findWithoutLargePayload(database, { userId, id });
  if (found === undefined) throw new NotFoundError();
  const { payload, payloadBytes, ...notification } = found;
  if (payload !== null) return { ...notification, payload };
  await admit(payloadBytes);
  return findNotification(database, userId, id);
}

/** Returns the size of a notification if a reply with it should wait too; otherwise `undefined`. */
export function findLargeSize({ payload, payloadSize, answer, onExpiry }: Notification): number | undefined {
  const texts = [answer, onExpiry].map((content) => (content === null ? 0 : JSON.stringify(content).length));
  const bytes =
    (payloadSize ?? measureJson(payload, JSON.stringify(payload))) +
    texts.reduce((sum, size) => sum + size, 0);
  return bytes > LARGE_BYTES ? bytes : undefined;
}
