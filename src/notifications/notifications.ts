import { sql } from 'kysely';
import type { EntityManager } from '../database/database.ts';
import {
  type Combinations,
  countMatching,
  cutPage,
  idsOfPage,
  inOrder,
  type Page,
  type PageInput,
  pageInput,
  type Tagged,
} from '../database/page.ts';
import { type Inputs, readCount, readOne, readPage } from '../database/read.ts';
import type { Selected } from '../database/selected.ts';
import { type Slots, statement } from '../database/statement.ts';
import { NotFoundError } from '../errors/gateway-errors.ts';
import type { Writer } from '../live/announcer.ts';
import { changeInOneStatement } from '../revisions/change.ts';
import { selectTag } from '../revisions/revisions.ts';
import type { Time } from '../values/time.ts';
import type { Notification } from './notification.entity.ts';
import {
  type NotificationKind,
  type NotificationStatus,
  notificationKinds,
  notificationStatuses,
} from './notification.enums.ts';

/** Which of a user's notifications; an empty list or none is no filter. */
export type NotificationFilter = {
  status?: readonly NotificationStatus[] | null | undefined;
  kind?: readonly NotificationKind[] | null | undefined;
};

/** Every combination of the kinds and statuses that match, one in each position; none without a filter. */
type FilterInput = {
  userId: string;
  kinds: readonly NotificationKind[] | undefined;
  statuses: readonly NotificationStatus[] | undefined;
};

function filterInput(userId: string, { status, kind }: NotificationFilter): FilterInput {
  if (!status?.length && !kind?.length) return { userId, kinds: undefined, statuses: undefined };
  const statuses = new Set(status?.length ? status : notificationStatuses);
  const kinds = new Set(kind?.length ? kind : notificationKinds);
  const combinations = [...kinds].flatMap((kind) => [...statuses].map((status) => ({ kind, status })));
  return {
    userId,
    kinds: combinations.map(({ kind }) => kind),
    statuses: combinations.map(({ status }) => status),
  };
}

/** By the index on (user_id, kind, status, created_at, id). */
function combinations({ slot }: Inputs<FilterInput>): Combinations {
  return {
    from: sql`unnest(${slot('kinds')}::text[], ${slot('statuses')}::text[]) as wanted (kind, status)`,
    table: 'notification',
    matches: sql`user_id = ${slot('userId')} and kind = wanted.kind and status = wanted.status`,
  };
}

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
  return list(em, { ...filterInput(userId, filter), ...pageInput(page) }, selected);
}

const count = readCount((db, inputs: Inputs<FilterInput>) =>
  inputs.has('kinds')
    ? db.selectNoFrom(countMatching(combinations(inputs)).as('count'))
    : db
        .selectFrom('Notification')
        .where('userId', '=', inputs.slot('userId'))
        .select((eb) => eb.fn.countAll<number>().as('count')),
);

/** Counts the whole list. */
export async function countNotifications(
  em: EntityManager,
  userId: string,
  filter: NotificationFilter,
): Promise<number> {
  return count(em, filterInput(userId, filter));
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

/**
 * One statement. Locking the user and then the notification reads its status as the one before left it, so that of
 * two at once one changes it, and both find it dismissed. Times never go back, though clocks and requests overtake
 * each other.
 */
const dismiss = statement((db, { slot }: Slots<{ userId: string; id: string; now: Time }>) =>
  db
    .with('locked', (db) =>
      db.selectFrom('UserRevision').select('userId').where('userId', '=', slot('userId')).forUpdate(),
    )
    .with('undismissed', (db) =>
      db
        .selectFrom('Notification')
        .innerJoin('locked', 'locked.userId', 'Notification.userId')
        .select('Notification.id')
        .where('Notification.id', '=', slot('id'))
        .where('Notification.status', '<>', 'dismissed')
        .forUpdate('Notification'),
    )
    .with('raised', (db) =>
      db
        .updateTable('UserRevision')
        .set((eb) => ({ notifications: eb('notifications', '+', 1) }))
        .where('userId', '=', slot('userId'))
        .where((eb) => eb.exists(eb.selectFrom('undismissed').select('id')))
        .returning('notifications as revision'),
    )
    .updateTable('Notification')
    .from('raised')
    .set((eb) => ({
      status: 'dismissed',
      revision: eb.ref('raised.revision'),
      dismissedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
      updatedAt: eb.fn('greatest', [slot('now'), 'updatedAt']),
    }))
    .where('userId', '=', slot('userId'))
    .where('id', '=', slot('id'))
    .returningAll('Notification'),
);

/**
 * Dismisses a notification whatever its status; one that is dismissed already stays as it is.
 * @throws {NotFoundError} where the user has no such notification
 */
export async function dismissNotification(
  { em, announce }: Writer,
  userId: string,
  id: string,
  now: Time,
): Promise<Notification> {
  const [dismissed] = await changeInOneStatement(em, dismiss, { userId, id, now });
  if (dismissed === undefined) return findNotification(em, userId, id);
  announce({ user: userId, topic: 'notifications', revision: dismissed.revision });
  return dismissed;
}
