/**
 * Numbers of records by group. The name of a group is its subject and the values that its records share, for example
 * `notifications/plan_requested/active`. Groups without records are omitted.
 */
export type Counts = Readonly<Record<string, number>>;

/** The kinds of records that are counted. */
export const subjects = ['notifications', 'workspaces', 'editorCredentials', 'deliveries'] as const;
export type Subject = (typeof subjects)[number];

/** Adds counts, after multiplying the second by `factor`. */
export function addCounts(left: Counts, right: Counts, factor = 1): Counts {
  const sum = { ...left };
  for (const [group, count] of Object.entries(right)) {
    const total = (sum[group] ?? 0) + factor * count;
    if (total === 0) delete sum[group];
    else sum[group] = total;
  }
  return sum;
}

/** Returns the counts of one subject. */
export function pickSubject(counts: Counts, subject: Subject): Counts {
  return Object.fromEntries(Object.entries(counts).filter(([group]) => group.startsWith(`${subject}/`)));
}
