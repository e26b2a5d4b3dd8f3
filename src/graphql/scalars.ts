import { GraphQLScalarType, Kind } from 'graphql';
import { Secret } from '../values/secret.ts';
import { parseTime, TIME_RULE, type Time } from '../values/time.ts';

/** Like all messages of this file, this one does not repeat the value: it may be a misplaced credential. */
function readTime(value: unknown): Time {
  const time = parseTime(value);
  if (time === undefined) throw new TypeError(TIME_RULE);
  return time;
}

/** A time of RFC 3339; answered in UTC with milliseconds and `Z`. */
export const DateTime = new GraphQLScalarType<Time, string>({
  name: 'DateTime',
  description: 'A time by RFC 3339. Answers are in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue: readTime,
  serialize(value) {
    if (typeof value === 'string') return value;
    throw new TypeError('is not a time');
  },
});

/** Any JSON, passed through unchanged. */
export const JSONValue = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any JSON value, given back equal to what was sent, keys in their order.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  parseValue: (value) => value,
  serialize: (value) => value,
});

/** A credential. On its way in it becomes a type that cannot be printed; only serializing reveals it. */
export const SecretText = new GraphQLScalarType<Secret, string>({
  name: 'Secret',
  description:
    'A credential or a preview token. It never appears in an error or a log. Only `editorCredential` and `Workspace.previewToken` return one.',
  parseValue: parseSecret,
  // An enum value is no string either.
  parseLiteral: (node) => parseSecret(node.kind === Kind.STRING ? node.value : undefined),
  serialize(value) {
    if (value instanceof Secret) return value.reveal();
    throw new TypeError('is not a credential');
  },
});

function parseSecret(value: unknown): Secret {
  if (typeof value !== 'string') throw new TypeError('must be a string');
  return new Secret(value);
}
