import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isEnumType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { isRecord, type Path } from '../errors/issue.ts';
import type { PathInfo } from '../errors/validation-issues.ts';
import { EmailAddress, SecretText } from './scalars.ts';

/** The types whose values never appear in errors. */
const secretTypes: ReadonlySet<string> = new Set([SecretText.name, EmailAddress.name]);

/** Whether values of an input type may contain a credential. */
export function mayContainSecret(type: GraphQLInputType, seen: ReadonlySet<string> = new Set()): boolean {
  const named = getNamedType(type);
  if (secretTypes.has(named.name)) return true;
  if (!isInputObjectType(named) || seen.has(named.name)) return false;
  const inside = new Set([...seen, named.name]);
  return Object.values(named.getFields()).some((field) => mayContainSecret(field.type, inside));
}

/**
 * Inspects the value at a path inside an input of a type. Every value of an input that may contain a credential is
 * secret: the caller may have misspelled the name of the credential's field, or used the wrong field.
 */
export function inspectInput(type: GraphQLInputType, path: Path): PathInfo {
  return { isSecret: mayContainSecret(type), knownKeyCount: listTypes(type, path).length - 1 };
}

/** Like {@link inspectInput}, for a path that begins with the name of an argument. */
export function inspectArgument(declared: readonly GraphQLArgument[], [name, ...path]: Path): PathInfo {
  const argument = declared.find((argument) => argument.name === name);
  if (argument === undefined) return { isSecret: false, knownKeyCount: 0 };
  const { isSecret, knownKeyCount } = inspectInput(argument.type, path);
  return { isSecret, knownKeyCount: 1 + knownKeyCount };
}

/**
 * Converts a parsed value at a path, which begins with the name of an argument, to what was sent: resolvers get other
 * values of enums.
 */
export function toSentValue(
  declared: readonly GraphQLArgument[],
  [name, ...path]: Path,
  value: unknown,
): unknown {
  const argument = declared.find((argument) => argument.name === name);
  const types = argument ? listTypes(argument.type, path) : [];
  const type = types[path.length];
  return type ? nameMembers(type, value) : value;
}

/** Lists the type of an input, and the types of what is at the steps of a path, up to the first that is not known. */
function listTypes(type: GraphQLInputType, [step, ...rest]: Path): GraphQLInputType[] {
  if (step === undefined) return [type];
  const nullable = getNullableType(type);
  if (typeof step === 'number' && isListType(nullable)) return [type, ...listTypes(nullable.ofType, rest)];
  // A single value is coerced to a list (GraphQL, section 3.11).
  const named = getNamedType(type);
  const field = isInputObjectType(named) ? named.getFields()[step] : undefined;
  return field ? [type, ...listTypes(field.type, rest)] : [type];
}

function nameMembers(type: GraphQLInputType, value: unknown): unknown {
  const nullable = getNullableType(type);
  if (isListType(nullable))
    return Array.isArray(value) ? value.map((item) => nameMembers(nullable.ofType, item)) : value;
  if (isEnumType(nullable))
    return nullable.getValues().find((member) => member.value === value)?.name ?? value;
  if (!isInputObjectType(nullable) || !isRecord(value)) return value;
  const fields = nullable.getFields();
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => {
      const field = fields[name];
      return [name, field ? nameMembers(field.type, member) : member];
    }),
  );
}
