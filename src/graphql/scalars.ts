import { GraphQLScalarType, Kind, type ValueNode } from 'graphql';
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
    'A credential, a preview token, or the ID of a chat member: 1 to 16,384 printable ASCII characters without spaces. It is never logged or included in an error. Only `editorCredential` and `Workspace.previewToken` return values of this type.',
  parseValue: parseSecret,
  parseLiteral: parseSecretLiteral,
  serialize(value) {
    if (value instanceof Secret) return value.reveal();
    throw new TypeError('is not a credential');
  },
});

/** The address of a user: input is as secret as a credential, output is masked. */
export const EmailAddress = new GraphQLScalarType<Secret, string>({
  name: 'EmailAddress',
  description:
    'An email address of at most 254 ASCII characters, without a display name. Input is never logged or included in an error. Output is masked except for its first character and domain: `a***@example.com`.',
  specifiedByURL: 'https://html.spec.whatwg.org/multipage/input.html#valid-e-mail-address',
  parseValue: parseSecret,
  parseLiteral: parseSecretLiteral,
  serialize(value) {
    if (typeof value === 'string') return value;
    throw new TypeError('is not a masked address');
  },
});

/** The `http` or `https` URL of a link. */
export const LinkURL = new GraphQLScalarType<string, string>({
  name: 'URL',
  description:
    'An `http` or `https` URL of at most 2,048 characters, without a user name and password. Clients can render it as a link.',
  specifiedByURL: 'https://url.spec.whatwg.org/#valid-url-string',
  parseValue(value) {
    if (typeof value !== 'string') throw new TypeError('must be a string');
    return value;
  },
  parseLiteral(node) {
    if (node.kind !== Kind.STRING) throw new TypeError('must be a string');
    return node.value;
  },
  serialize(value) {
    if (typeof value === 'string') return value;
    throw new TypeError('is not a URL');
  },
});

/** By default, the unquoted literal TOKEN, an enum value, would be parsed as a string. */
function parseSecretLiteral(node: ValueNode): Secret {
  return parseSecret(node.kind === Kind.STRING ? node.value : undefined);
}

function parseSecret(value: unknown): Secret {
  if (typeof value !== 'string') throw new TypeError('must be a string');
  return new Secret(value);
}
