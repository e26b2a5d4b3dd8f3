import type { EntityManager } from '@mikro-orm/postgresql';
import type { Kysely } from 'kysely';
import { getKysely, type Tables } from '../database/database.ts';
import { type ShownDeliveryState, shownDeliveryStates } from '../delivery/delivery.enums.ts';
import { UserRevision } from '../revisions/user-revision.entity.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { countChanges } from './count-changes.ts';
import { countRecords } from './count-records.ts';
import { addCounts, type Counts, pickSubject, type Subject, subjects } from './counts.ts';
import { UserStatistics } from './user-statistics.entity.ts';

type Revision = Pick<UserRevision, 'userId' | 'epoch' | 'notifications' | 'workspaces' | 'editorAuth'>;
type Stored = Revision & Pick<UserStatistics, 'counts' | 'isSettled' | 'countedAt'>;

/** A user, the counts that are stored, and what may have changed since. */
type Recount = { revision: Revision; before: Stored | undefined; changed: readonly Subject[] };

/** When users are counted: all records of those that were last counted before `staleBefore`. */
export type CountTimes = { now: Time; staleBefore: Time };

/**
 * Counts the records of users again, as far as they may have changed, and stores the counts. Returns by how much the
 * counts of all users together change. The transaction must read one snapshot, so that the counts belong to the revisions.
 */
export async function recountUsers(
  em: EntityManager,
  users: readonly string[],
  { now, staleBefore }: CountTimes,
  signal: AbortSignal,
): Promise<Counts> {
  const where = { userId: { $in: [...users] } };
  const options = { disableIdentityMap: true };
  const revisions = await em.find(UserRevision, where, options);
  const stored = await em.find(UserStatistics, where, options);
  const byUser = new Map(stored.map((user) => [user.userId, user]));
  const recounts = revisions.map((revision): Recount => {
    const before = byUser.get(revision.userId);
    byUser.delete(revision.userId);
    return { revision, before, changed: listSubjects(revision, before, staleBefore) };
  });
  const counted = await countSubjects(getKysely(em), recounts, signal);

  let difference: Counts = {};
  const changed: Stored[] = [];
  for (const recount of recounts) {
    const { revision, before } = recount;
    const { userId, epoch, notifications, workspaces, editorAuth } = revision;
    const counts = subjects
      .map((subject) => counted.get(subject)?.get(userId) ?? pickUnchanged(recount, subject))
      .reduce((sum, some) => addCounts(sum, some));
    const added = addCounts(counts, before?.counts ?? {}, -1);
    difference = addCounts(difference, added);
    if (before && !isWhole(recount) && !hasNewRevision(revision, before) && Object.keys(added).length === 0)
      continue;
    changed.push({
      ...{ userId, epoch, notifications, workspaces, editorAuth, counts },
      isSettled: isSettled(counts),
      countedAt: before === undefined || isWhole(recount) ? now : before.countedAt,
    });
  }
  // The users that remain were deleted.
  for (const { counts } of byUser.values()) difference = addCounts(difference, counts, -1);
  await em.nativeDelete(UserStatistics, { userId: { $in: [...byUser.keys()] } });
  if (changed.length > 0) await em.upsertMany(UserStatistics, changed);
  return difference;
}

/** Counts what may have changed, by subject and user. Users without records of a subject are omitted. */
async function countSubjects(
  db: Kysely<Tables>,
  recounts: readonly Recount[],
  signal: AbortSignal,
): Promise<ReadonlyMap<Subject, ReadonlyMap<string, Counts>>> {
  const known = await countNotificationChanges(db, recounts);
  const counted = new Map<Subject, ReadonlyMap<string, Counts>>();
  for (const subject of subjects) {
    const users = recounts
      .filter(({ changed }) => changed.includes(subject))
      .map(({ revision }) => revision.userId)
      .filter((user) => subject !== 'notifications' || !known.has(user));
    const records = await countRecords(db, subject, users, signal);
    counted.set(subject, subject === 'notifications' ? new Map([...known, ...records]) : records);
  }
  return counted;
}

/** The maximum number of a user's changes that are counted instead of all notifications. */
const MAX_CHANGES = 50;

/** Counts the notifications of users of whom this is possible from a few changes. */
async function countNotificationChanges(
  db: Kysely<Tables>,
  recounts: readonly Recount[],
): Promise<ReadonlyMap<string, Counts>> {
  const stored = new Map<string, Counts>();
  const changes = recounts.flatMap((recount) => {
    const { revision, before } = recount;
    if (before === undefined || isWhole(recount)) return [];
    stored.set(before.userId, pickSubject(before.counts, 'notifications'));
    const [from, to] = [before.notifications, revision.notifications];
    return to > from && to - from <= MAX_CHANGES ? [{ userId: before.userId, from, to }] : [];
  });
  const differences = await countChanges(db, changes);
  return new Map(
    Array.from(differences, ([user, difference]) => [user, addCounts(stored.get(user) ?? {}, difference)]),
  );
}

/** Returns the stored counts of a subject that did not change. */
function pickUnchanged({ before, changed }: Recount, subject: Subject): Counts {
  return before === undefined || changed.includes(subject) ? {} : pickSubject(before.counts, subject);
}

function isWhole({ changed }: Recount): boolean {
  return changed.length === subjects.length;
}

function hasNewRevision(revision: Revision, stored: Stored): boolean {
  return subjects.some((subject) => subject !== 'deliveries' && isChanged[subject](revision, stored));
}

/** Lists what may have changed. */
function listSubjects(revision: Revision, stored: Stored | undefined, staleBefore: Time): readonly Subject[] {
  if (stored === undefined || stored.epoch !== revision.epoch || stored.countedAt < staleBefore)
    return subjects;
  return subjects.filter((subject) => isChanged[subject](revision, stored));
}

const isChanged: Readonly<Record<Subject, (revision: Revision, stored: Stored) => boolean>> = {
  notifications: (revision, stored) => revision.notifications !== stored.notifications,
  workspaces: (revision, stored) => revision.workspaces !== stored.workspaces,
  editorCredentials: (revision, stored) => revision.editorAuth !== stored.editorAuth,
  deliveries: (revision, stored) => !stored.isSettled || revision.notifications !== stored.notifications,
};

/** The states that a delivery leaves only if its notification changes. */
const settledStates: readonly ShownDeliveryState[] = ['delivered', 'cancelled'];

const unsettledGroups = deliveryChannels.flatMap((channel) =>
  shownDeliveryStates
    .filter((state) => !settledStates.includes(state))
    .map((state) => `deliveries/${channel}/${state}`),
);

/** Senders and `retryDeliveries` change deliveries without a revision. */
function isSettled(counts: Counts): boolean {
  return unsettledGroups.every((group) => counts[group] === undefined);
}
