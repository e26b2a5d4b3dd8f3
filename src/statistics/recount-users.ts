import type { EntityManager } from '@mikro-orm/postgresql';
import { getKysely } from '../database/database.ts';
import { type DeliveryState, deliveryStates } from '../delivery/delivery.enums.ts';
import { UserRevision } from '../revisions/user-revision.entity.ts';
import { deliveryChannels } from '../values/delivery-channel.enums.ts';
import type { Time } from '../values/time.ts';
import { countRecords } from './count-records.ts';
import { addCounts, type Counts, omitSubjects, type Subject, subjects } from './counts.ts';
import { UserStatistics } from './user-statistics.entity.ts';

type Revision = Pick<UserRevision, 'userId' | 'epoch' | 'notifications' | 'workspaces' | 'editorAuth'>;
type Stored = Pick<
  UserStatistics,
  keyof UserStatistics & (keyof Revision | 'counts' | 'isSettled' | 'countedAt')
>;

/** When users are counted: all records of those that were last counted before `staleBefore`. */
export type CountTimes = { now: Time; staleBefore: Time };

/**
 * Counts the records of users again, as far as they may have changed, and stores the counts. Returns by how much the
 * counts of all users together change. Revisions are read before the records, so a change in the meantime is found by
 * its revision the next time.
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
  const storedByUser = new Map(stored.map((user) => [user.userId, user]));

  const recounts = revisions.map((revision) => {
    const before = storedByUser.get(revision.userId);
    storedByUser.delete(revision.userId);
    return { revision, before, subjects: listSubjects(revision, before, staleBefore) };
  });
  const counted = new Map<Subject, ReadonlyMap<string, Counts>>();
  for (const subject of subjects) {
    const owners = recounts.filter((one) => one.subjects.includes(subject));
    const ids = owners.map(({ revision }) => revision.userId);
    counted.set(subject, await countRecords(getKysely(em), subject, ids, signal));
  }

  let difference: Counts = {};
  const changed: Stored[] = [];
  for (const { revision, before, subjects: recounted } of recounts) {
    const { userId, epoch, notifications, workspaces, editorAuth } = revision;
    const counts = recounted
      .map((subject) => counted.get(subject)?.get(userId) ?? {})
      .reduce((sum, some) => addCounts(sum, some), omitSubjects(before?.counts ?? {}, recounted));
    const added = addCounts(counts, before?.counts ?? {}, -1);
    difference = addCounts(difference, added);
    const isWhole = recounted.length === subjects.length;
    if (before && !isWhole && !hasNewRevision(revision, before) && Object.keys(added).length === 0) continue;
    changed.push({
      ...{ userId, epoch, notifications, workspaces, editorAuth, counts },
      isSettled: isSettled(counts),
      countedAt: before === undefined || isWhole ? now : before.countedAt,
    });
  }
  // The users that remain were deleted.
  for (const { counts } of storedByUser.values()) difference = addCounts(difference, counts, -1);
  await em.nativeDelete(UserStatistics, { userId: { $in: [...storedByUser.keys()] } });
  if (changed.length > 0) await em.upsertMany(UserStatistics, changed);
  return difference;
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
const settledStates: readonly DeliveryState[] = ['delivered', 'cancelled'];

const unsettledGroups = deliveryChannels.flatMap((channel) =>
  deliveryStates
    .filter((state) => !settledStates.includes(state))
    .map((state) => `deliveries/${channel}/${state}`),
);

/** Senders and `retryDeliveries` change deliveries without a revision. */
function isSettled(counts: Counts): boolean {
  return unsettledGroups.every((group) => counts[group] === undefined);
}
