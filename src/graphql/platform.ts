import { platformRead } from '../auth/access.ts';
import { type Time, toMilliseconds, toTime } from '../values/time.ts';
import { builder } from './builder.ts';
import { sinceRule } from './rules.ts';

/** The records of all users. Features add their fields, which are nullable, so that each can fail alone. */
export const Platform = builder.objectRef<object>('Platform').implement({
  description:
    'Records of all users, for support and dashboards. If one field fails, the others still return data.',
});

builder.queryField('platform', (t) =>
  t.field({
    access: platformRead,
    type: Platform,
    nullable: true,
    description: 'Returns records and counts of all users.',
    resolve: () => ({}),
  }),
);

const DEFAULT_PERIOD_MS = 24 * 3_600_000;

/** The condition `since` of a list of all users. */
export const sinceArgument = {
  type: 'DateTime',
  description:
    'Selects only records created at this timestamp or later, at most 30 days ago. Defaults to 24 hours ago.',
  validate: sinceRule,
} as const;

/** Returns the beginning of the period that a list covers. */
export function resolveSince(since: Time | null | undefined, now: Time): Time {
  return since ?? toTime(new Date(toMilliseconds(now) - DEFAULT_PERIOD_MS));
}
