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
import { SecretText } from './scalars.ts';

/** Whether values of an input type may contain a credential. */
export function mayContainSecret(type: GraphQLInputType, seen: ReadonlySet<string> = new Set()): boolean {
  const named = getNamedType(type);
  if (named.name === SecretText.name) return true;
  if (!isInputObjectType(named) || seen.has(named.name)) return false;
  const inside = new Set([...seen, named.name]);
  return Object.values(named.getFields()).some((field) => mayContainSecret(field.type, inside));
}

/**
 * Inspects the input at a path below an input type. Its value is secret if it or a field of the same object may contain
 * a credential: the caller may have misspelled the name of that field or used the wrong field.
 */
export function inspectInput(type: GraphQLInputType, [step, ...rest]: Path, declaredSteps = 0): PathInfo {
  const inner = getNullableType(type);
  if (typeof step === 'number' && isListType(inner))
    return inspectInput(inner.ofType, rest, declaredSteps + 1);
  // A single value is coerced to a list (GraphQL, section 3.11).
  const named = getNamedType(type);
  const fields = isInputObjectType(named) ? Object.values(named.getFields()) : [];
  const field = fields.find(({ name }) => name === step);
  if (field === undefined) return { isSecret: mayContainSecret(named), declaredSteps };
  const isBesideSecret = fields.some(({ type }) => getNamedType(type).name === SecretText.name);
  const place = inspectInput(field.type, rest, declaredSteps + 1);
  return { ...place, isSecret: isBesideSecret || place.isSecret };
}

/** Inspects the input at a path of arguments, as {@link inspectInput} does below one argument. */
export function inspectArgument(declared: readonly GraphQLArgument[], [name, ...path]: Path): PathInfo {
  const argument = declared.find((argument) => argument.name === name);
  return argument ? inspectInput(argument.type, path, 1) : { isSecret: false, declaredSteps: 0 };
}
