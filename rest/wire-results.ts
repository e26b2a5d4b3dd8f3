import { z } from 'zod';
import { isRecord } from '../src/errors/json-path.ts';
import { isStrictObject, toCamelCase, typeNames, unwrap } from './wire.ts';

/** Converts a shape to a GraphQL selection, with the names on the wire as aliases. Empty for a leaf. */
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
type Serialize = (value: unknown) => unknown;

const identity: Serialize = (value) => value;

/**
 * Creates a serializer of results of a shape. Enum values are written in lower case. Null stays null in a nullable
 * field, and becomes undefined in an optional field, which is then omitted. A serializer is created once for thousands
 * of records.
 */
export function createSerializer(shape: z.core.$ZodType): Serialize {
  const serialize = createNonNullSerializer(unwrap(shape));
  if (shape instanceof z.ZodOptional) return (value) => (value === null ? undefined : serialize(value));
  return serialize === identity ? identity : (value) => (value === null ? null : serialize(value));
}

function createNonNullSerializer(shape: z.core.$ZodType): Serialize {
  if (shape instanceof z.ZodArray) {
    const serialize = createSerializer(shape.element);
    return serialize === identity
      ? identity
      : (value) => (Array.isArray(value) ? value.map(serialize) : value);
  }
  if (shape instanceof z.ZodEnum || shape instanceof z.ZodLiteral) return createEnumSerializer(shape);
  if (isUnion(shape)) return createUnionSerializer(shape);
  return isStrictObject(shape) ? createObjectSerializer(shape, []) : identity;
}

function createEnumSerializer(shape: z.core.$ZodType): Serialize {
  const words = new Map<unknown, string>(listWords(shape).map((word) => [word.toUpperCase(), word]));
  return (value) => words.get(value) ?? String(value).toLowerCase();
}

/** Serializes an object. `others` are fields that only other variants have; they are removed. */
function createObjectSerializer({ shape }: z.ZodObject, others: readonly string[]): Serialize {
  const fields = Object.keys(shape)
    .map((name) => ({ name, serialize: createSerializer(shape[name]) }))
    .filter(({ serialize }) => serialize !== identity);
  if (fields.length === 0 && others.length === 0) return identity;
  return (value) => {
    if (!isRecord(value)) return value;
    for (const { name, serialize } of fields) value[name] = serialize(value[name]);
    for (const name of others) value[name] = undefined;
    return value;
  };
}

function createUnionSerializer({ def: { discriminator }, options }: Union): Serialize {
  // Variants that are not GraphQL types of their own, such as those of a workspace, are selected together. Each result
  // then contains the fields of all variants. Those that its own variant does not define, such as `error_message`, are
  // removed.
  const common = options
    .filter((option) => !typeNames.has(option))
    .flatMap(({ shape }) => Object.keys(shape));
  const serializers = new Map(
    options.flatMap((option) => {
      const others = typeNames.has(option) ? [] : common.filter((name) => !(name in option.shape));
      const serialize = createObjectSerializer(option, others);
      return listWords(option.shape[discriminator]).map((word) => [word.toUpperCase(), serialize] as const);
    }),
  );
  return (value) => {
    if (!isRecord(value)) return value;
    const serialize = serializers.get(String(value[discriminator]));
    if (serialize === undefined) {
      throw new Error(`No variant of the wire shape fits ${discriminator} "${value[discriminator]}".`);
    }
    return serialize(value);
  };
}

/** Lists the values of an enum. */
function listWords(shape: z.core.$ZodType | undefined): string[] {
  if (shape instanceof z.ZodEnum) return shape.options.map(String);
  return shape instanceof z.ZodLiteral ? [...shape.values].map(String) : [];
}

type Union = z.ZodDiscriminatedUnion<readonly z.ZodObject[], string>;

function isUnion(shape: z.core.$ZodType): shape is Union {
  return shape instanceof z.ZodDiscriminatedUnion;
}
