import { z } from 'zod';
import { credentialSchema } from '../src/values/constraints.ts';

/*
 * Wire shapes are zod schemas with the names of the specification. GraphQL's names are derived from them (`project_id`
 * is `projectId`, `plan_requested` is `PLAN_REQUESTED`). A shape is therefore enough to select and serialize a result,
 * and to check a body and convert it to arguments.
 */

/** The GraphQL object type of a member of a union. */
export const typeNames = z.registry<{ typeName: string }>();

/** The shape of one member type of a GraphQL union. */
export function variant<Shape extends z.ZodRawShape>(typeName: string, shape: Shape) {
  return z.strictObject(shape).register(typeNames, { typeName });
}

/**
 * A credential in a body. Its value is never shown in an error. The metadata add the argument's constraints to the
 * OpenAPI document.
 */
export const secret = () => z.string().meta({ ...credentialSchema.meta(), format: 'password' });

/** Whether a body of this shape contains a credential. */
export function containsSecret(shape: z.core.$ZodType): boolean {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return containsSecret(inner.element);
  if (isStrictObject(inner)) return Object.values(inner.shape).some(containsSecret);
  return z.globalRegistry.get(inner)?.format === 'password';
}

/** Whether a shape lists all properties. Loose objects are free-form JSON, treated as leaves. */
export function isStrictObject(shape: z.core.$ZodType): shape is z.ZodObject {
  return shape instanceof z.ZodObject && shape.def.catchall instanceof z.ZodNever;
}

/** Returns the shape of a nullable or optional shape's values. */
export function unwrap(shape: z.core.$ZodType): z.core.$ZodType {
  return shape instanceof z.ZodOptional || shape instanceof z.ZodNullable ? unwrap(shape.unwrap()) : shape;
}

/** Converts a name of the specification to GraphQL's: `project_id` to `projectId`. */
export function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
