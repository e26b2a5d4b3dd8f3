import { sql } from 'kysely';
import type { EntityManager } from '../database/database.ts';
import {
  type Bounds,
  countMatching,
  cutPage,
  idsOfPage,
  inOrder,
  isBetween,
  type Page,
  type PageInput,
  pageInput,
  type Tagged,
} from '../database/page.ts';
import { type Inputs, readCount, readOne, readPage } from '../database/read.ts';
import type { Selected } from '../database/selected.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Notification } from './notification.entity.ts';
import {
  combinations,
  type FilterInput,
  filterInput,
  type NotificationFilter,
  withinTimes,
} from './notification-filter.ts';

const always = ['id', 'kind'] as const;

/** A notification with the selected properties. */
export type SelectedNotification = Selected<Notification, (typeof always)[number]>;

const list = readPage((db, inputs: Inputs<FilterInput & PageInput>) => {
  const { slot, has, chosen } = inputs;
  const all = db
    .selectFrom('Notification')
    .select(always)
    .$if(true, (all) => all.select(chosen('Notification', always)))
    .where('userId', '=', slot('userId'))
    .$if(has('tagged'), (all) => all.select(selectTag(db, 'notifications', slot('userId')).as('tag')));
  if (!has('kinds')) return cutPage(all, inputs);
  const ids = idsOfPage(combinations(inputs), inputs);
  return inOrder(all.where('id', '=', sql<string>`any(${ids})`), has('backwards'));
});

/** Lists a user's notifications, newest first, with the selected properties. */
export async function listNotifications(
  em: EntityManager,
  userId: string,
  filter: NotificationFilter,
  page: Page,
  selected?: ReadonlySet<string>,
): Promise<Tagged<SelectedNotification>[]> {
  return list(em, { ...filterInput(userId, filter), ...pageInput(withinTimes(page, filter)) }, selected);
}

const count = readCount((db, inputs: Inputs<FilterInput & Bounds>) =>
  inputs.has('kinds')
    ? db.selectNoFrom(countMatching(combinations(inputs), isBetween(inputs)).as('count'))
    : db
        .selectFrom('Notification')
        .where('userId', '=', inputs.slot('userId'))
        .where(isBetween(inputs))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Counts the whole list. */
export async function countNotifications(
  em: EntityManager,
  userId: string,
  filter: NotificationFilter,
): Promise<number> {
  return count(em, { ...filterInput(userId, filter), ...pageInput(withinTimes({}, filter)) });
}

const find = readOne((db, { slot }: Inputs<{ userId: string; id: string }>) =>
  db.selectFrom('Notification').selectAll().where('userId', '=', slot('userId')).where('id', '=', slot('id')),
);

/** @throws {NotFoundError} where the user has no such notification */
export async function findNotification(em: EntityManager, userId: string, id: string): Promise<Notification> {
  const notification = await find(em, { userId, id });
  if (notification === undefined) throw new NotFoundError();
  return notification;
}
