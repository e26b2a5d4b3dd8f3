/** Longer delays are reduced to this, so that a wrong header cannot stop a channel for years. */
const MAX_RETRY_AFTER_SECONDS = 86_400;

/** The three formats of an HTTP date start with the day of the week (RFC 9110, section 5.6.7). */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /;

/**
 * Parses the header `Retry-After`, a number of seconds or an HTTP date (RFC 9110, section 10.2.3). Returns whole
 * seconds, at most a day; undefined if the header is missing or invalid. `now` is in milliseconds since 1970.
 */
export function parseRetryAfter(header: string | null | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - now) / 1000);
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(seconds, 0), MAX_RETRY_AFTER_SECONDS);
}

/** The oldest format, of asctime(), has no time zone. */
function parseHttpDate(text: string): number {
  if (!HTTP_DATE.test(text)) return Number.NaN;
  return Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`);
}
