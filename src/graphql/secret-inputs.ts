import { type GraphQLInputType, getNamedType, isInputObjectType, isRequiredInputField } from 'graphql';
import type { Path } from '../errors.ts';
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
 * Whether the value at a path below an input type must not be shown: it may contain a credential, is an unknown field,
 * which may be a misspelt one, or belongs to an input that exists to carry a credential, which may be in the wrong field.
 */
export function isSecretAt(type: GraphQLInputType, path: Path): boolean {
  const [step, ...rest] = path;
  const named = getNamedType(type);
  if (typeof step === 'number') return isSecretAt(named, rest);
  if (step === undefined || !isInputObjectType(named)) return holdsSecret(named);
  const fields = named.getFields();
  const requiresSecret = Object.values(fields).some(
    (field) => isRequiredInputField(field) && getNamedType(field.type).name === SecretText.name,
  );
  const field = fields[step];
  return requiresSecret || (field === undefined ? holdsSecret(named) : isSecretAt(field.type, rest));
}
