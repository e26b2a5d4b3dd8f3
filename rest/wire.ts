import { z } from 'zod';
import { isRecord } from '../src/errors/validation-issues.ts';
import { credentialSchema } from '../src/values/constraints.ts';

/*
 * Wire shapes are zod schemas with the names of the specification. GraphQL's names are derived from them (`project_id` is
 * `projectId`, `plan_requested` is `PLAN_REQUESTED`). A shape is therefore enough to select a result, write it, check a
 * body and convert it to arguments.
 */

/** The GraphQL object type of a member of a union. */
const typeNames = z.registry<{ typeName: string }>();

/** A variant of a GraphQL union: the strict object of one of its types. */
export function variant<Shape extends z.ZodRawShape>(typeName: string, shape: Shape) {
  return z.strictObject(shape).register(typeNames, { typeName });
}

/**
 * A credential in a body. Its value is never shown in an error. The OpenAPI document has the constraints of the rule that
 * the argument enforces.
 */
export const secret = () => z.string().meta({ ...credentialSchema.meta(), format: 'password' });

/** Converts a shape to a GraphQL selection, with fields formatField to their wire names. Empty for a leaf. */
export function toSelection(shape: z.core.$ZodType): string {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return toSelection(inner.element);
  if (!isUnion(inner)) return isStrictObject(inner) ? `{ ${toFields(inner).join(' ')} }` : '';
  const fields = inner.options.flatMap((option) => {
    const typeName = typeNames.get(option)?.typeName;
    return typeName === undefined
      ? toFields(option)
      : [`... on ${typeName} { ${toFields(option).join(' ')} }`];
  });
  return `{ ${[...new Set(fields)].join(' ')} }`;
}

function toFields(object: z.ZodObject): string[] {
  return Object.entries(object.shape).map(([name, shape]) =>
    `${formatField(name)} ${toSelection(shape)}`.trim(),
  );
}

function formatField(name: string): string {
  const field = toCamelCase(name);
  return field === name ? name : `${name}: ${field}`;
}

/** Converts a selected result to its wire format. Objects are changed in place, because nothing else refers to them. */
type ValueWriter = (value: unknown) => unknown;

const identity: ValueWriter = (value) => value;

/**
 * Creates a writer of results of a shape: enum values in lower case, null for nullable fields, undefined for optional
 * ones. It is created once for thousands of records.
 */
export function createWriter(shape: z.core.$ZodType): ValueWriter {
  const write = createPresentWriter(unwrap(shape));
  if (shape instanceof z.ZodOptional) return (value) => (value === null ? undefined : write(value));
  return write === identity ? identity : (value) => (value === null ? null : write(value));
}

function createPresentWriter(shape: z.core.$ZodType): ValueWriter {
  if (shape instanceof z.ZodArray) {
    const write = createWriter(shape.element);
    return write === identity ? identity : (value) => (Array.isArray(value) ? value.map(write) : value);
  }
  if (shape instanceof z.ZodEnum || shape instanceof z.ZodLiteral) return createEnumWriter(shape);
  if (isUnion(shape)) return createUnionWriter(shape);
  return isStrictObject(shape) ? createObjectWriter(shape, []) : identity;
}

function createEnumWriter(shape: z.core.$ZodType): ValueWriter {
  const words = new Map<unknown, string>(listWords(shape).map((word) => [word.toUpperCase(), word]));
  return (value) => words.get(value) ?? String(value).toLowerCase();
}

/** Writes an object. `others` are fields that were selected for another variant of it. */
function createObjectWriter({ shape }: z.ZodObject, others: readonly string[]): ValueWriter {
  const fields = Object.keys(shape)
    .map((name) => ({ name, write: createWriter(shape[name]) }))
    .filter(({ write }) => write !== identity);
  if (fields.length === 0 && others.length === 0) return identity;
  return (value) => {
    if (!isRecord(value)) return value;
    for (const { name, write } of fields) value[name] = write(value[name]);
    for (const name of others) value[name] = undefined;
    return value;
  };
}

function createUnionWriter({ def: { discriminator }, options }: Union): ValueWriter {
  // Variants that are GraphQL types have a selection each.
  const common = options
    .filter((option) => !typeNames.has(option))
    .flatMap(({ shape }) => Object.keys(shape));
  const writers = new Map(
    options.flatMap((option) => {
      const others = typeNames.has(option) ? [] : common.filter((name) => !(name in option.shape));
      const write = createObjectWriter(option, others);
      return listWords(option.shape[discriminator]).map((word) => [word.toUpperCase(), write] as const);
    }),
  );
  return (value) => {
    if (!isRecord(value)) return value;
    const write = writers.get(String(value[discriminator]));
    if (write === undefined) {
      throw new Error(`No variant of the wire shape fits ${discriminator} "${value[discriminator]}".`);
    }
    return write(value);
  };
}

/** Lists the values of an enum. */
function listWords(shape: z.core.$ZodType | undefined): string[] {
  if (shape instanceof z.ZodEnum) return shape.options.map(String);
  return shape instanceof z.ZodLiteral ? [...shape.values].map(String) : [];
}

/** Converts a checked body to arguments: names in camel case, enum values in upper case. */
export function toArguments(shape: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => toArguments(inner.element, item));
  if (inner instanceof z.ZodEnum) return String(value).toUpperCase();
  if (!isStrictObject(inner) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(inner.shape)
      .filter(([name]) => value[name] !== undefined)
      .map(([name, item]) => [toCamelCase(name), toArguments(item, value[name])]),
  );
}

/** Converts the path of an argument back to the path in the body. */
export function toBodyPath(
  shape: z.core.$ZodType | undefined,
  path: readonly (string | number)[],
): (string | number)[] {
  const [step, ...rest] = path;
  if (step === undefined) return [];
  const inner = shape && unwrap(shape);
  if (inner instanceof z.ZodArray) return [step, ...toBodyPath(inner.element, rest)];
  if (!inner || !isStrictObject(inner)) return [...path];
  const name = Object.keys(inner.shape).find((name) => toCamelCase(name) === step) ?? step;
  return [name, ...toBodyPath(inner.shape[name], rest)];
}

/** Whether a body of this shape contains a credential. */
export function containsSecret(shape: z.core.$ZodType): boolean {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return containsSecret(inner.element);
  if (isStrictObject(inner)) return Object.values(inner.shape).some(containsSecret);
  return z.globalRegistry.get(inner)?.format === 'password';
}

type Union = z.ZodDiscriminatedUnion<readonly z.ZodObject[], string>;

function isUnion(shape: z.core.$ZodType): shape is Union {
  return shape instanceof z.ZodDiscriminatedUnion;
}

/** A loose object is free-form JSON, a leaf. */
function isStrictObject(shape: z.core.$ZodType): shape is z.ZodObject {
  return shape instanceof z.ZodObject && shape.def.catchall instanceof z.ZodNever;
}

function unwrap(shape: z.core.$ZodType): z.core.$ZodType {
  return shape instanceof z.ZodOptional || shape instanceof z.ZodNullable ? unwrap(shape.unwrap()) : shape;
}

function toCamelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}
