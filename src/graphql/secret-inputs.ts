import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import type { Path } from '../errors/issue.ts';
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
  return { isSecret: mayContainSecret(type), knownKeyCount: countKnownKeys(type, path) };
}

/** Like {@link inspectInput}, for a path that begins with the name of an argument. */
export function inspectArgument(declared: readonly GraphQLArgument[], [name, ...path]: Path): PathInfo {
  const argument = declared.find((argument) => argument.name === name);
  if (argument === undefined) return { isSecret: false, knownKeyCount: 0 };
  const { isSecret, knownKeyCount } = inspectInput(argument.type, path);
  return { isSecret, knownKeyCount: 1 + knownKeyCount };
}

function countKnownKeys(type: GraphQLInputType, [step, ...rest]: Path): number {
  if (step === undefined) return 0;
  const nullable = getNullableType(type);
  if (typeof step === 'number' && isListType(nullable)) return 1 + countKnownKeys(nullable.ofType, rest);
  // A single value is coerced to a list (GraphQL, section 3.11).
  const named = getNamedType(type);
  const field = isInputObjectType(named) ? named.getFields()[step] : undefined;
  return field === undefined ? 0 : 1 + countKnownKeys(field.type, rest);
}
