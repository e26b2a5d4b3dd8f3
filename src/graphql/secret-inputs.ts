import {
  type GraphQLArgument,
  type GraphQLInputType,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import type { Path } from '../errors.ts';
import type { Place } from '../faults.ts';
import { SecretText } from './scalars.ts';

/** Whether values of an input type may contain a credential. */
export function holdsSecret(type: GraphQLInputType, seen: ReadonlySet<string> = new Set()): boolean {
  const named = getNamedType(type);
  if (named.name === SecretText.name) return true;
  if (!isInputObjectType(named) || seen.has(named.name)) return false;
  const inside = new Set([...seen, named.name]);
  return Object.values(named.getFields()).some((field) => holdsSecret(field.type, inside));
}

/**
 * Inspects the place at a path below an input type. A value must not be shown if it may contain a credential, is an
 * unknown field, which may be a misspelt one, or is beside a field for a credential, which may be in the wrong field.
 */
export function inspectInput(type: GraphQLInputType, [step, ...rest]: Path): Place {
  const inner = getNullableType(type);
  if (typeof step === 'number' && isListType(inner)) return oneStepDown(inspectInput(inner.ofType, rest));
  const named = getNamedType(type);
  if (typeof step !== 'string' || !isInputObjectType(named))
    return { isSecret: holdsSecret(named), declaredSteps: 0 };
  // A lone value stands for a list of one.
  const fields = named.getFields();
  const isBesideSecret = Object.values(fields).some(
    ({ type }) => getNamedType(type).name === SecretText.name,
  );
  const field = fields[step];
  if (field === undefined) return { isSecret: isBesideSecret || holdsSecret(named), declaredSteps: 0 };
  const place = oneStepDown(inspectInput(field.type, rest));
  return { ...place, isSecret: isBesideSecret || place.isSecret };
}

/** Inspects the place at a path of some arguments, as {@link inspectInput} does below one. */
export function inspectArgument(declared: readonly GraphQLArgument[], [name, ...path]: Path): Place {
  const argument = declared.find((argument) => argument.name === name);
  return argument ? oneStepDown(inspectInput(argument.type, path)) : { isSecret: false, declaredSteps: 0 };
}

function oneStepDown({ isSecret, declaredSteps }: Place): Place {
  return { isSecret, declaredSteps: declaredSteps + 1 };
}
