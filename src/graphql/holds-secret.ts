import { type GraphQLInputType, getNamedType, isInputObjectType } from 'graphql';
import { SecretText } from './scalars.ts';

/** Whether values of an input type may contain a credential, so that none of them may be shown. */
export function holdsSecret(type: GraphQLInputType, seen: ReadonlySet<string> = new Set()): boolean {
  const named = getNamedType(type);
  if (named.name === SecretText.name) return true;
  if (!isInputObjectType(named) || seen.has(named.name)) return false;
  const inside = new Set([...seen, named.name]);
  return Object.values(named.getFields()).some((field) => holdsSecret(field.type, inside));
}
