import { GraphQLScalarType, Kind } from 'graphql';
import { Secret } from '../values/secret.ts';
import { parseTime, TIME_MESSAGE, type Time } from '../values/time.ts';

/* No message of these types repeats the value: it may be a misplaced credential. */

/** An RFC 3339 timestamp, returned in UTC with milliseconds and `Z`. */
export const DateTime = new GraphQLScalarType<Time, string>({
  name: 'DateTime',
  description:
    'An RFC 3339 timestamp. Input can have any offset. Output is in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue(value) {
    const time = parseTime(value);
    if (time === undefined) throw new TypeError(TIME_MESSAGE);
    return time;
  },
  serialize(value) {
    if (typeof value === 'string') return value;
    throw new TypeError('is not a time');
  },
});

/** Any JSON, as parsed by JavaScript. */
export const JSONValue = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description:
    'Any JSON value. It is returned as parsed by JavaScript: numbers are doubles and integer keys come first; other keys keep their order.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  parseValue: (value) => value,
  serialize: (value) => value,
});

/** A credential or personal data. Input is wrapped in a type that cannot be printed; only serializing reveals it. */
export const SecretText = new GraphQLScalarType<Secret, string>({
  name: 'Secret',
  description:
    'A credential, a preview token, or the address of a user: 1 to 16,384 printable ASCII characters without spaces. It is never logged or included in an error. Only `editorCredential` and `Workspace.previewToken` return values of this type.',
  parseValue: parseSecret,
  // By default, the unquoted literal TOKEN, an enum value, would be parsed as a string.
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
