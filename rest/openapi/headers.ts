import { type Json, reference } from './schemas.ts';

const wholeNumber = (least: number) => ({ type: 'integer', minimum: least });

/** Every header that the reference tells of. */
export const headers = {
  'X-Request-Id': {
    description:
      'Names the request in the log. One that the request brings in this header is taken over, if it is 1 to 128 ' +
      'letters, digits, `.`, `_` and `-`.',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description:
      'Requests a minute that the user has for this kind of operation. Absent where the operator set no limit, as ' +
      'the other two.',
    schema: wholeNumber(1),
  },
  'RateLimit-Remaining': { description: 'How many of them are left.', schema: wholeNumber(0) },
  'RateLimit-Reset': { description: 'Seconds until all of them are there again.', schema: wholeNumber(1) },
  'Retry-After': {
    description: 'Seconds to wait before trying again.',
    required: true,
    schema: wholeNumber(1),
  },
  'WWW-Authenticate': {
    description:
      'The challenge of RFC 6750, section 3: `error="invalid_token"` where a token was sent, ' +
      '`error="insufficient_scope"` where it lacks the scope. Absent with `org_membership_required`.',
    schema: { type: 'string', pattern: '^Bearer' },
  },
  ETag: {
    description: 'Changes whenever the list does. Send it in `If-None-Match` to read the list again.',
    required: true,
    schema: { type: 'string' },
  },
  'Cache-Control': {
    description: 'The list is private, and must be asked for again with its `ETag`.',
    required: true,
    schema: { type: 'string', const: 'private, no-cache' },
  },
} satisfies Record<string, Json>;

/** A header by its name. */
export type Header = keyof typeof headers;

/** The rate limit's headers; who is not known has no limit. */
export const quota = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const;

/** The headers of a response; every one carries its request's id. */
export function headerRefs(...names: readonly Header[]) {
  return Object.fromEntries(
    ['X-Request-Id', ...names].map((name) => [name, reference('headers', name)] as const),
  );
}
