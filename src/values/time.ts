import { z } from 'zod';

/**
 * A timestamp as sent to clients: RFC 3339 in UTC with milliseconds, `2026-01-31T09:30:00.000Z`, in the years 1 to
 * 9999. Sorts chronologically. A string, because converting the timestamps of a long list to `Date` and back takes
 * longer than executing GraphQL.
 */
export type Time = `${string}Z`;

/** Converts a date. @throws {RangeError} for an invalid date */
export function toTime(date: Date): Time {
  return `${date.toISOString().slice(0, -1)}Z`;
}

/** In milliseconds since 1970. PostgreSQL has no year 0, and RFC 3339 no year 10000. */
const EARLIEST = Date.parse('0001-01-01T00:00:00.000Z');
const LATEST = Date.parse('9999-12-31T23:59:59.999Z');

const Rfc3339 = z.iso.datetime({ offset: true });

/** The message of error items for an invalid timestamp. */
export const TIME_MESSAGE = 'must be an RFC 3339 timestamp, for example 2026-01-31T09:30:00.000Z';

/** Parses a timestamp with any offset, in the years 1 to 9999; undefined for any other value. */
export function parseTime(value: unknown): Time | undefined {
  // `t` and `z` may be in lower case (RFC 3339, section 5.6).
  const text = typeof value === 'string' ? value.toUpperCase() : value;
  return timeAt(Date.parse(Rfc3339.safeParse(text).data ?? ''));
}

/** Converts milliseconds since 1970; undefined outside the years 1 to 9999. */
export function timeAt(milliseconds: number): Time | undefined {
  const isInRange = milliseconds >= EARLIEST && milliseconds <= LATEST;
  return isInRange ? toTime(new Date(milliseconds)) : undefined;
}

/** Converts a timestamp to milliseconds since 1970. */
export function toMilliseconds(time: Time): number {
  return Date.parse(time);
}

/** Returns the time some milliseconds later; the last possible one beyond the year 9999. */
export const addMilliseconds = (time: Time, milliseconds: number): Time =>
  timeAt(toMilliseconds(time) + milliseconds) ?? '9999-12-31T23:59:59.999Z';

/** Returns the latest of times. */
export function latest(first: Time, ...others: readonly (Time | null | undefined)[]): Time {
  return others.reduce<Time>((last, time) => (time && time > last ? time : last), first);
}

/** The length of `2026-01-31 09:30:00`. */
const TO_THE_SECOND = 19;

/**
 * Converts PostgreSQL's output of a `timestamptz(3)` in UTC: `2026-01-31 09:30:00.34+00`, without trailing zeros.
 * @throws {Error} for another time zone
 */
export function timeFromPostgres(text: string): Time {
  if (!text.endsWith('+00')) throw new Error(`PostgreSQL returned a timestamp that is not in UTC: ${text}`);
  const fraction = text.slice(TO_THE_SECOND + 1, -3).padEnd(3, '0');
  return `${text.slice(0, 10)}T${text.slice(11, TO_THE_SECOND)}.${fraction}Z`;
}
