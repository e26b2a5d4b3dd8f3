/** Reads a `Retry-After` header, seconds or an HTTP date (RFC 9110, section 10.2.3), as seconds from `now` on. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d{1,9}$/.test(header)) return Number(header);
  const until = header.endsWith(' GMT') ? Date.parse(header) : Number.NaN;
  return Number.isNaN(until) ? undefined : Math.max(0, Math.ceil((until - now.getTime()) / 1000));
}
