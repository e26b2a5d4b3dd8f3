import { defineBatchedRead } from '../database/batched-read.ts';
import type { Database } from '../database/database.ts';
import {
  type CountsInput,
  isAmong,
  type KeysInput,
  limitToPeriod,
  type OneOrMore,
  ownerOfPage,
  type Page,
  type PageInput,
  selectCounts,
  selectPages,
  toPageInput,
} from '../database/page.ts';
import {
  defineCounts,
  defineListRead,
  definePageRead,
  type ReadParams,
  type Selected,
  selectProperties,
} from '../database/read.ts';
import { readRows } from '../database/statement.ts';
import { defineUserList } from '../database/user-list.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { selectTag } from '../revisions/revisions.ts';
import { readWhole } from './change-notifications.ts';
import type { Notification } from './notification.entity.ts';
import {
  type FilterInput,
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

/** A page of more records is large if it contains payloads or answers: others would wait for its transfer. */
const MAX_SHORT_PAGE = 40;

function mayBeLarge({ limit = 0 }: PageInput, selected?: ReadonlySet<string>): boolean {
  const contents = ['payload', 'answer', 'onExpiry'];
  return limit > MAX_SHORT_PAGE && contents.some((name) => selected?.has(name) ?? true);
}

type ListInput = FilterInput & PageInput;

/** The notifications of a user. */
export const notificationList = defineUserList({
  toInput: (filter: NotificationFilter, page: Page): ListInput => ({
    ...toFilterInput(filter),
    ...toPageInput(limitToPeriod(page, filter)),
  }),
  readPages: definePageRead(
    (db, params: ReadParams<ListInput & OneOrMore>) => {
      const selected = params.selected('Notification', alwaysListed);
      const properties = [...alwaysListed, ...selected];
      return selectPages<'Notification'>(db, params, (user) => selectMatching(params, user), properties)
        .$call((page) => selectProperties(page, alwaysListed, selected))
        .$if(params.has('tagged'), (page) =>
          page.select(selectTag(db, 'notifications', ownerOfPage(params)).as('tag')),
        );
    },
    (input, selected) => input.users !== undefined || mayScanMany(input) || mayBeLarge(input, selected),
  ),
  readCounts: defineCounts((db, params: ReadParams<ListInput & CountsInput>) =>
    selectCounts(db, params, (user) => selectMatching(params, user)),
  ),
});

type Key = { userId: string; id: string };

const findAmong = defineListRead((db, params: ReadParams<KeysInput>) => {
  const properties = ['userId', ...always] as const;
  const selected = params.selected('Notification', properties);
  return selectProperties(db.selectFrom('Notification'), properties, selected).where(isAmong(params, 'text'));
});

/** Finds a notification by user and ID, with the selected properties. Concurrent calls become one statement. */
export const findNotificationTogether = defineBatchedRead<
  Key,
  { notification: SelectedNotification | undefined }
>(async (database, keys, selected) => {
  const input = { users: keys.map(({ userId }) => userId), ids: keys.map(({ id }) => id) };
  const found = Map.groupBy(await findAmong(database, input, selected), ({ userId }) => userId);
  return keys.map(({ userId, id }) => ({
    notification: found.get(userId)?.find((notification) => notification.id === id),
  }));
});

/** Finds a notification by ID. @throws {NotFoundError} if the user has no such notification */
export async function findNotification(
  database: Database,
  userId: string,
  id: string,
): Promise<Notification> {
  const [notification] = await readRows(database, readWhole, { userId, id });
  if (notification === undefined) throw new NotFoundError();
  return notification;
}
