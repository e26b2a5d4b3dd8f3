import { expect } from 'vitest';
import type { Workload } from './workload.ts';

/** Checks the records of all users against the operations and their results. */
export async function checkWorkload(workload: Workload): Promise<void> {
  for (const userId of workload.users) {
    await checkNotifications(workload, userId);
    await checkWorkspaces(workload, userId);
    await checkPreferences(workload, userId);
    const { versions, refreshedFrom } = workload.account(userId);
    expect(new Set(versions).size).toBe(versions.length);
    expect(new Set(refreshedFrom).size).toBe(refreshedFrom.length);
  }
}

const time = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const sorted = (texts: readonly unknown[]) => texts.map(String).sort();
const latest = (times: readonly string[]) => times.toSorted().at(-1) ?? '';

async function checkNotifications({ database, account }: Workload, userId: string): Promise<void> {
  const { published, created, resolutions, resolved, dismissed } = account(userId);
  const rows = await database.sql(
    `select id, title, task_id as task, kind, status, resolution as reason, revision::int,
       ${time('occurred_at')} as time from notification where user_id = $1`,
    [userId],
  );
  const ids = sorted(published.map(({ id }) => id));
  expect(sorted(rows.map(({ id }) => id))).toEqual(ids);
  expect(sorted(rows.map(({ title }) => title))).toEqual(ids);
  expect(sorted(created)).toEqual(ids);

  expect(sorted(dismissed)).toEqual(
    sorted(rows.flatMap(({ id, status }) => (status === 'dismissed' ? [id] : []))),
  );
  // A notification that was published after a resolution that covers its time is resolved (`resumed`) too, but no
  // resolution returned it.
  expect(new Set(resolved).size).toBe(resolved.length);
  for (const { id, reason } of rows) if (resolved.includes(String(id))) expect(reason).toBe('resumed');
  await checkRevisions({ database }, userId, rows);

  for (const group of Map.groupBy(rows, ({ task, kind }) => `${task} ${kind}`).values()) {
    const newest = latest(group.map(({ time }) => String(time)));
    const task = String(group[0]?.task);
    const ofTask = resolutions.filter((resolution) => resolution.task === task);
    const before = latest(ofTask.flatMap(({ before }) => before ?? []));
    for (const row of group) {
      const isCurrent = row.time === newest && newest > before;
      // A resolution without `before` resolves whatever is active at that moment, which depends on the order of
      // execution.
      const isOpen = ofTask.every((resolution) => resolution.before !== undefined);
      if (!isCurrent) expect(row.status).not.toBe('active');
      else if (isOpen && !dismissed.includes(String(row.id))) expect(row.status).toBe('active');
    }
  }
}

async function checkRevisions(
  { database }: Pick<Workload, 'database'>,
  userId: string,
  rows: readonly Record<string, unknown>[],
): Promise<void> {
  const revisions = rows.map(({ revision }) => Number(revision));
  expect(new Set(revisions).size).toBe(revisions.length);
  if (revisions.length === 0) return;
  const [user] = await database.sql(
    'select notifications::int as reached from user_revision where user_id = $1',
    [userId],
  );
  // Resolutions with `before` move the revision even if they match nothing.
  expect(user?.reached).toBeGreaterThanOrEqual(Math.max(...revisions));
}

async function checkWorkspaces({ database, account }: Workload, userId: string): Promise<void> {
  const { puts, deletions } = account(userId);
  const rows = await database.sql(
    `select id, git_ref as state, ${time('updated_at')} as time from workspace where user_id = $1 order by id`,
    [userId],
  );
  const expected = [...new Set(puts.map(({ id }) => id))].sort().flatMap((id) => {
    const put = latest(puts.flatMap((one) => (one.id === id ? [one.time] : [])));
    const deleted = latest(deletions.flatMap((one) => (one.id === id ? [one.time] : [])));
    return put > deleted ? [{ id, state: put, time: put }] : [];
  });
  expect(rows).toEqual(expected);
}

/** The records must match one of the replies, as the last reply contains what is stored. */
async function checkPreferences({ database, account }: Workload, userId: string): Promise<void> {
  const { preferences } = account(userId);
  const rows = await database.sql(
    `select user_id, notification_kind, email_enabled, push_enabled, chat_dm_enabled,
       ${time('created_at')} as created_at, ${time('updated_at')} as updated_at
     from notification_preference where user_id = $1 order by notification_kind`,
    [userId],
  );
  if (preferences.length === 0) expect(rows).toEqual([]);
  else expect(preferences).toContainEqual(rows);
}
