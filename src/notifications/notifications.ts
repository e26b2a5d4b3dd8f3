import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../database/database.ts';
import {
  type Bounds,
  type Listed,
  type Page,
  type PageInput,
  selectCount,
  selectPage,
  textBytes,
  toPageInput,
} from '../database/page.ts';
import {
  defineCount,
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

const always = ['id', 'kind'] as const;

/** Lists also read what the position of a record consists of. */
const alwaysListed = [...always, 'createdAt'] as const;

const textSizes = {
  // Gateways before version 0.3.0 stored no size. Few payloads take more than four times their text in memory.
  payload: sql<number>`coalesce(${sql.ref('payloadSize')}, 4 * octet_length(payload::text))`,
  previewText: textBytes('previewText'),
  prUrl: textBytes('prUrl'),
  projectRepoUrl: textBytes('projectRepoUrl'),
} satisfies Partial<Record<keyof Notification, RawBuilder<number>>>;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = definePageRead(
  (db, params: ReadParams<FilterInput & PageInput>) => {
    const { param, has } = params;
    const selected = params.selected('Notification', alwaysListed);
    return selectPage(db, params, selectMatching(params), [...alwaysListed, ...selected], textSizes)
      .$call((page) => selectProperties(page, alwaysListed, selected))
      .$if(has('tagged'), (page) => page.select(selectTag(db, 'notifications', param('userId')).as('tag')));
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
  return list(
    database,
    { ...toFilterInput(userId, filter), ...toPageInput(limitToTimes(page, filter)) },
    selected,
  );
}

/** Reads the selected long texts of a user's notifications. */
export const readNotificationTexts = defineLargeRead(
  (db, params: ReadParams<{ userId: string; ids: readonly string[] }>) => {
    const texts = params.selected('Notification', ['id']).filter((name) => Object.hasOwn(textSizes, name));
    return selectProperties(db.selectFrom('Notification'), ['id'], texts)
      .where('userId', '=', params.param('userId'))
      .where('id', '=', sql<string>`any(${params.param('ids')})`);
  },
);

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

/** A reply with larger notifications waits until it may be large, because it can contain many of them, and many times. */
const LARGE_BYTES = 64 * 1024;

const findWithoutLargePayload = defineRowRead((db, params: ReadParams<Key>) =>
  db
    .selectFrom('Notification')
    .select(params.selected('Notification', ['payload']))
    .select([
      sql<NotificationPayload | null>`case when ${textSizes.payload} <= ${LARGE_BYTES} then payload end`.as(
        'payload',
      ),
      textSizes.payload.as('payloadBytes'),
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
export function findLargeSize({ payload, payloadSize }: Notification): number | undefined {
  const bytes = payloadSize ?? measureJson(payload, JSON.stringify(payload));
  return bytes > LARGE_BYTES ? bytes : undefined;
}
