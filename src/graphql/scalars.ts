import { GraphQLScalarType, Kind, type ValueNode, valueFromASTUntyped } from 'graphql';
import { z } from 'zod';
import { Secret } from '../secret.ts';
import { type Time, timeOf } from '../time.ts';

/** Messages never repeat the value: it may be a credential in the wrong place. */
function unfit(rule: string): TypeError {
  return new TypeError(rule);
}

const time = z.iso.datetime({ offset: true });

/** PostgreSQL knows no year 0, and RFC 3339 no year 10000. */
const EARLIEST = new Date('0001-01-01T00:00:00.000Z');
const LATEST = new Date('9999-12-31T23:59:59.999Z');

function parseTime(value: unknown): Time {
  const date = new Date(time.safeParse(value).data ?? Number.NaN);
  if (date >= EARLIEST && date <= LATEST) return timeOf(date);
  throw unfit('must be an RFC 3339 time, for example 2026-01-31T09:30:00.000Z');
}

/** A time of RFC 3339; answered in UTC with milliseconds and `Z`. */
export const DateTime = new GraphQLScalarType<Time, string>({
  name: 'DateTime',
  description: 'A time by RFC 3339. Answers are in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc3339',
  parseValue: parseTime,
  parseLiteral: (node) => parseTime(textOf(node)),
  serialize(value) {
    if (typeof value === 'string') return value;
    throw unfit('is not a time');
  },
});

/** Any JSON, passed through as it came. */
export const JSONValue = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any JSON value, given back equal to what was sent, keys in their order.',
  specifiedByURL: 'https://www.rfc-editor.org/rfc/rfc8259',
  parseValue: (value) => value,
  parseLiteral: (node, variables) => valueFromASTUntyped(node, variables),
  serialize: (value) => value,
});

/** A credential. On its way in it becomes a type that cannot be printed; only serializing reveals it. */
export const SecretText = new GraphQLScalarType<Secret, string>({
  name: 'Secret',
  description:
    'A credential or a preview token. It never appears in an error or a log. Only `editorCredential` and `Workspace.previewToken` return one.',
  parseValue: parseSecret,
  parseLiteral: (node) => parseSecret(textOf(node)),
  serialize(value) {
    if (value instanceof Secret) return value.reveal();
    throw unfit('is not a credential');
  },
});

function parseSecret(value: unknown): Secret {
  if (typeof value !== 'string') throw unfit('must be a string');
  return new Secret(value);
}

function textOf(node: ValueNode): string | undefined {
  return node.kind === Kind.STRING ? node.value : undefined;
}
