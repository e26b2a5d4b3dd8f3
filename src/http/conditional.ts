/** Whether `If-None-Match` names the current entity tag (RFC 9110, section 13.1.2: a weak comparison). */
export function matches(ifNoneMatch: string, etag: string): boolean {
  const tags = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes('*') || tags.includes(etag);
}
