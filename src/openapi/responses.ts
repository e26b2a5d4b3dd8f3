import examples from './examples.json' with { type: 'json' };
import { type Json, reference } from './schemas.ts';

const wholeNumber = (minimum: number) => ({ type: 'integer', minimum });

/** Every header in the reference. */
export const headers = {
  'X-Request-Id': {
    description:
      "The request's ID, which the log contains. Clients can set it in a request header of the same name, with 1 to 128 " +
      'letters, digits, `.`, `_` and `-`. Otherwise the gateway generates it.',
    schema: { type: 'string' },
  },
  'RateLimit-Limit': {
    description:
      'The maximum number of points per minute for this kind of operation. The `RateLimit-*` headers are absent if ' +
      'the operator turned the limit off.',
    schema: wholeNumber(1),
  },
  'RateLimit-Remaining': { description: 'The number of points left.', schema: wholeNumber(0) },
  'RateLimit-Reset': {
    description: 'The number of seconds until the limit is reset.',
    schema: wholeNumber(1),
  },
  'Retry-After': {
    description: 'The number of seconds to wait before retrying.',
    required: true,
    schema: wholeNumber(1),
  },
  'WWW-Authenticate': {
    description:
      'The challenge of RFC 6750, section 3. It has `error="invalid_token"` if the token is invalid, and ' +
      '`error="insufficient_scope"` if the token lacks the scope. Absent with `org_membership_required`.',
    schema: { type: 'string', pattern: '^Bearer' },
  },
  ETag: {
    description:
      'The entity tag of the whole list, regardless of filters. It changes whenever a record of the list changes.',
    required: true,
    schema: { type: 'string' },
  },
  Link: {
    description:
      'The next page, if `limit` cut the list (RFC 8288): `<URL>; rel="next"`. The URL has the same parameters, and `after` in ' +
      'place of `offset`.',
    schema: { type: 'string', pattern: '^<.+>; rel="next"$' },
  },
  'Cache-Control': {
    description: 'Only the client may cache the list, and it must revalidate it with its `ETag`.',
    required: true,
    schema: { type: 'string', const: 'private, no-cache' },
  },
} satisfies Record<string, Json>;

/** A header by its name. */
export type Header = keyof typeof headers;

/** The headers of every reply to an authenticated caller. */
export const everyReply = [
  'X-Request-Id',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
] as const;

/** References the headers of a response. */
export function toHeaderRefs(...names: readonly Header[]) {
  return Object.fromEntries(names.map((name) => [name, reference('headers', name)] as const));
}

/** The response if the client has the current list. */
export const notModified = {
  description:
    'The list has not changed since the `ETag` in `If-None-Match`. There is no body. The request counts as a read.',
  headers: toHeaderRefs(...everyReply, 'ETag', 'Cache-Control'),
};

/*
 * Replies of a gateway. test/rest/openapi-examples.test.ts compares them, and updates the file with
 * `npx vitest run test/rest/openapi-examples.test.ts -u`.
 */
const allExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> = examples;

/**
 * Describes a JSON body, with the examples of these keys: an error code, or an operation followed by `.request`,
 * `.reply` or an error code.
 */
export function describeJson(schema: Json | undefined, ...keys: readonly string[]): Json {
  const named = keys.flatMap((key) => Object.entries(allExamples[key] ?? {}));
  const shown = Object.fromEntries(named.map(([name, value]) => [name, { value }]));
  return { 'application/json': { schema, examples: shown } };
}
