import type { Announce } from './announcer.ts';
import type { Topic } from './hub.ts';

/** Sorts a user's changed records by revision, announces the last record, and returns all records. */
export function announceRecords<Row extends { revision: number }>(
  announce: Announce,
  user: string,
  topic: Topic,
  changed: readonly Row[],
): Row[] {
  const records = changed.toSorted((a, b) => a.revision - b.revision);
  const last = records.at(-1);
  if (last !== undefined) announce({ user, topic, revision: last.revision });
  return records;
}
