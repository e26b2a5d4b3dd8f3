import { expect } from 'vitest';
import type { Storm } from './storm.ts';

/** Holds what is stored of a user against what was done to them. */
export async function checkUser(storm: Storm, userId: string): Promise<void> {
  await checkNotifications(storm, userId);
  await checkWorkspaces(storm, userId);
  await checkPreferences(storm, userId);
  checkCredential(storm, userId);
}

const time = (column: string) => `to_char(${column} at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const sorted = (texts: readonly unknown[]) => texts.map(String).sort();
const latest = (times: readonly string[]) => times.toSorted().at(-1) ?? '';

async function checkNotifications({ database, account }: Storm, userId: string): Promise<void> {
  const { published, created, resolutions, resolved, dismissed } = account(userId);
  const rows = await database.sql(
    `select id, title, task_id as task, kind, status, resolved_by as reason, revision::int,
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
  // Others were resolved when they came: the resolution that covers them did not report them.
  expect(new Set(resolved).size).toBe(resolved.length);
  for (const { id, reason } of rows) if (resolved.includes(String(id))) expect(reason).toBe('answered');
  await checkRevisions({ database }, userId, rows);

  for (const group of Map.groupBy(rows, ({ task, kind }) => `${task} ${kind}`).values()) {
    const newest = latest(group.map(({ time }) => String(time)));
    const task = String(group[0]?.task);
    const ofTask = resolutions.filter((resolution) => resolution.task === task);
    const before = latest(ofTask.flatMap(({ before }) => before ?? []));
    for (const row of group) {
      const isCurrent = row.time === newest && newest > before;
      // Without a time a resolution takes what is active then, which depends on who came first.
      const isOpen = ofTask.every((resolution) => resolution.before !== undefined);
      if (!isCurrent) expect(row.status).not.toBe('active');
      else if (isOpen && !dismissed.includes(String(row.id))) expect(row.status).toBe('active');
    }
  }
}

async function checkRevisions(
  { database }: Pick<Storm, 'database'>,
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
  expect(user).toEqual({ reached: Math.max(...revisions) });
}

async function checkWorkspaces({ database, account }: Storm, userId: string): Promise<void> {
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

/** The last reply tells what is stored. */
async function checkPreferences({ database, account }: Storm, userId: string): Promise<void> {
  const { preferences } = account(userId);
  const rows = await database.sql(
    `select user_id, notification_kind, email_enabled, push_enabled, chat_dm_enabled,
       ${time('created_at')} as created_at, ${time('updated_at')} as updated_at
     from notification_preference where user_id = $1 order by notification_kind`,
    [userId],
  );
  if (preferences.length === 0) expect(rows).toEqual([]);
  else expect(preferences).toContainEqual(expect.arrayContaining(rows));
}

function checkCredential({ account }: Storm, userId: string): void {
  const { versions, refreshedFrom } = account(userId);
  expect(new Set(versions).size).toBe(versions.length);
  expect(new Set(refreshedFrom).size).toBe(refreshedFrom.length);
}
