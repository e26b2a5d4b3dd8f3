import { z } from 'zod';

/*
 * One table makes the wire shapes: zod schemas with the names of the specification. GraphQL's names follow from
 * them (`project_id` is `projectId`, `plan_requested` is `PLAN_REQUESTED`), so a shape is enough to select a
 * result, to write it out, to check a body and to turn it into arguments.
 */

/** The GraphQL object type that a member of a union stands for. */
const typeNames = z.registry<{ typeName: string }>();

/** A variant of a GraphQL union: the strict object of one of its types. */
export function variant<Shape extends z.ZodRawShape>(typeName: string, shape: Shape) {
  return z.strictObject(shape).register(typeNames, { typeName });
}

/** A credential in a body: its value is never shown in an error. */
export const secret = () => z.string().meta({ format: 'password', writeOnly: true });

/** The selection that answers a shape, its fields aliased to their wire names; empty for a leaf. */
export function selectionOf(shape: z.core.$ZodType): string {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return selectionOf(inner.element);
  if (!isUnion(inner)) return isStrictObject(inner) ? `{ ${fieldsOf(inner).join(' ')} }` : '';
  const fields = inner.options.flatMap((option) => {
    const typeName = typeNames.get(option)?.typeName;
    return typeName === undefined
      ? fieldsOf(option)
      : [`... on ${typeName} { ${fieldsOf(option).join(' ')} }`];
  });
  return `{ ${[...new Set(fields)].join(' ')} }`;
}

function fieldsOf(object: z.ZodObject): string[] {
  return Object.entries(object.shape).map(([name, shape]) => `${aliased(name)} ${selectionOf(shape)}`.trim());
}

function aliased(name: string): string {
  const field = camelCase(name);
  return field === name ? name : `${name}: ${field}`;
}

/** Writes out a selected result: enum words in lower case, null where the shape has it, left out where it is optional. */
export function toWire(shape: z.core.$ZodType, value: unknown): unknown {
  if (value === null || value === undefined) return shape instanceof z.ZodNullable ? null : undefined;
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => toWire(inner.element, item));
  if (inner instanceof z.ZodEnum || inner instanceof z.ZodLiteral) return String(value).toLowerCase();
  if (!isRecord(value)) return value;
  if (isUnion(inner)) return objectToWire(memberOf(inner, value), value);
  return isStrictObject(inner) ? objectToWire(inner, value) : value;
}

function objectToWire(object: z.ZodObject, value: Readonly<Record<string, unknown>>) {
  const written: Record<string, unknown> = {};
  for (const [name, shape] of Object.entries(object.shape)) {
    const item = toWire(shape, value[name]);
    if (item !== undefined) written[name] = item;
  }
  return written;
}

function memberOf(union: Union, value: Readonly<Record<string, unknown>>): z.ZodObject {
  const word = String(value[union.def.discriminator]).toLowerCase();
  const member = union.options.find(
    (option) => option.shape[union.def.discriminator]?.safeParse(word).success,
  );
  if (member === undefined)
    throw new Error(`No variant of the wire shape fits ${union.def.discriminator} "${word}".`);
  return member;
}

/** Turns a checked body into arguments: camel case names, enum words in upper case. */
export function toArguments(shape: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => toArguments(inner.element, item));
  if (inner instanceof z.ZodEnum) return String(value).toUpperCase();
  if (!isStrictObject(inner) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(inner.shape)
      .filter(([name]) => value[name] !== undefined)
      .map(([name, item]) => [camelCase(name), toArguments(item, value[name])]),
  );
}

/** Turns the path of an argument back into the path of the body that it was made of. */
export function toBodyPath(
  shape: z.core.$ZodType | undefined,
  path: readonly (string | number)[],
): (string | number)[] {
  const [step, ...rest] = path;
  if (step === undefined) return [];
  const inner = shape && unwrap(shape);
  if (inner instanceof z.ZodArray) return [step, ...toBodyPath(inner.element, rest)];
  if (!inner || !isStrictObject(inner)) return [...path];
  const name = Object.keys(inner.shape).find((name) => camelCase(name) === step) ?? step;
  return [name, ...toBodyPath(inner.shape[name], rest)];
}

/** Whether a body of this shape contains a credential. */
export function holdsSecret(shape: z.core.$ZodType): boolean {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return holdsSecret(inner.element);
  if (isStrictObject(inner)) return Object.values(inner.shape).some(holdsSecret);
  return z.globalRegistry.get(inner)?.format === 'password';
}

type Union = z.ZodDiscriminatedUnion<readonly z.ZodObject[], string>;

function isUnion(shape: z.core.$ZodType): shape is Union {
  return shape instanceof z.ZodDiscriminatedUnion;
}

/** A loose object is JSON of somebody else's: a leaf. */
function isStrictObject(shape: z.core.$ZodType): shape is z.ZodObject {
  return shape instanceof z.ZodObject && shape.def.catchall instanceof z.ZodNever;
}

function unwrap(shape: z.core.$ZodType): z.core.$ZodType {
  return shape instanceof z.ZodOptional || shape instanceof z.ZodNullable ? unwrap(shape.unwrap()) : shape;
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
