import { z } from 'zod';
import { isRecord } from '../src/errors/issue.ts';
import { credentialSchema } from '../src/values/constraints.ts';

/*
 * Wire shapes are zod schemas with the names of the specification. GraphQL's names are derived from them (`project_id`
 * is `projectId`, `plan_requested` is `PLAN_REQUESTED`). A shape is therefore enough to select and serialize a result,
 * and to check a body and convert it to arguments.
 */

/** The GraphQL object type of a member of a union. */
const typeNames = z.registry<{ typeName: string }>();

/** The shape of one member type of a GraphQL union. */
export function variant<Shape extends z.ZodRawShape>(typeName: string, shape: Shape) {
  return z.strictObject(shape).register(typeNames, { typeName });
}

/** The property that is the record itself, and the record's GraphQL interface, of a {@link besideRecord} shape. */
const besides = z.registry<{ record: string; type: string }>();

/** The shape of a record and, beside it, of fields of it: `{ notification, request }`. The record's own shape is closed. */
export function besideRecord<Shape extends z.ZodRawShape>(record: string, type: string, shape: Shape) {
  return z.strictObject(shape).register(besides, { record, type });
}

/** A timestamp, as every field returns it. */
export const timestamp = z.iso.datetime().meta({
  id: 'Timestamp',
  description: 'An RFC 3339 timestamp in UTC with milliseconds: `2026-01-31T09:30:00.000Z`.',
});

/** Text that is `null` in some records. */
export const nullableText = (description: string) => z.string().nullable().describe(description);

/** Text that some records omit. */
export const optionalText = (description: string) => z.string().optional().describe(description);

/** When a field is present, if not always or by its value. */
const presence = z.registry<{ property: string; value: string }>();

/**
 * A text that is present exactly while an enum before it in the object has a value on the wire. It may be null then.
 */
export function onlyWhile(property: string, value: string, shape: z.ZodNullable) {
  const { description = '' } = shape;
  return shape.optional().describe(description).register(presence, { property, value });
}

/** A credential in a body, never shown in an error. The metadata add its constraints to the OpenAPI document. */
export const secret = () => z.string().meta({ ...credentialSchema.meta(), format: 'password' });

/** How properties of a body become arguments, where they do not have the same value. */
const bodyRules = z.registry<{ isIgnored?: true; isEmptyNull?: true }>();

/** A credential in a body, or an empty string if there is none, which is `null` in GraphQL. */
export function secretOrEmpty(description: string) {
  const shape = z.string().meta({ ...secret().meta(), minLength: 0 });
  return shape.describe(description).register(bodyRules, { isEmptyNull: true });
}

/** A text that callers may send back as they read it. It is no argument. */
export function ignoredText(description: string) {
  return z.string().nullish().describe(`${description} Ignored.`).register(bodyRules, { isIgnored: true });
}

/** Converts a checked body to arguments: names in camel case, enum values in upper case. */
export function toArguments(shape: z.core.$ZodType, value: unknown): unknown {
  const inner = unwrap(shape);
  if (value === null || (value === '' && bodyRules.get(inner)?.isEmptyNull)) return null;
  if (inner instanceof z.ZodArray && Array.isArray(value))
    return value.map((item) => toArguments(inner.element, item));
  if (inner instanceof z.ZodEnum) return String(value).toUpperCase();
  if (!isStrictObject(inner) || !isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(inner.shape)
      .filter(([name, item]) => value[name] !== undefined && !bodyRules.get(item)?.isIgnored)
      .map(([name, item]) => [toCamelCase(name), toArguments(item, value[name])]),
  );
}

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

/** Converts a name: `dismissNotification` and `not_found` become `DismissNotification` and `NotFound`. */
export function toPascalCase(name: string): string {
  return name.replace(/(?:^|_)([a-z])/g, (_match, letter: string) => letter.toUpperCase());
}

/** Converts a shape to a GraphQL selection, with the names on the wire as aliases. Empty for a leaf. */
export function toSelection(shape: z.core.$ZodType): string {
  const inner = unwrap(shape);
  if (inner instanceof z.ZodArray) return toSelection(inner.element);
  const beside = besides.get(inner);
  if (beside && isStrictObject(inner)) {
    const { [beside.record]: record, ...others } = inner.shape;
    return `${toSelection(record).slice(0, -1)}... on ${beside.type} { ${toFields(others).join(' ')} } }`;
  }
  if (!isUnion(inner)) return isStrictObject(inner) ? `{ ${toFields(inner.shape).join(' ')} }` : '';
  const fields = inner.options.map(
    (option) => `... on ${typeNames.get(option)?.typeName} { ${toFields(option.shape).join(' ')} }`,
  );
  return `{ ${fields.join(' ')} }`;
}

function toFields(shape: z.ZodRawShape): string[] {
  return Object.entries(shape).map(([name, shape]) => {
    const field = toCamelCase(name);
    const alias = field === name ? '' : `${name}: `;
    return `${alias}${field} ${toSelection(shape)}`.trim();
  });
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
    if (serialize === identity) return identity;
    return (value) => (Array.isArray(value) ? value.map(serialize) : value);
  }
  if (shape instanceof z.ZodEnum || shape instanceof z.ZodLiteral) return createEnumSerializer(shape);
  if (isUnion(shape)) return createUnionSerializer(shape);
  if (!isStrictObject(shape)) return identity;
  const beside = besides.get(shape);
  return beside ? createBesideSerializer(beside.record, shape.shape) : createObjectSerializer(shape);
}

function createEnumSerializer(shape: z.core.$ZodType): Serialize {
  const words = new Map<unknown, string>(listWords(shape).map((word) => [word.toUpperCase(), word]));
  return (value) => words.get(value) ?? String(value).toLowerCase();
}

function createObjectSerializer({ shape }: z.ZodObject): Serialize {
  const fields = Object.entries(shape)
    .map(([name, field]) => ({ name, serialize: createSerializer(field), condition: presence.get(field) }))
    .filter(({ serialize, condition }) => serialize !== identity || condition !== undefined);
  if (fields.length === 0) return identity;
  return (value) => {
    if (!isRecord(value)) return value;
    for (const { name, serialize, condition } of fields) {
      if (condition === undefined) value[name] = serialize(value[name]);
      else if (value[condition.property] !== condition.value) value[name] = undefined;
    }
    return value;
  };
}

function createBesideSerializer(record: string, { [record]: own, ...others }: z.ZodRawShape): Serialize {
  if (own === undefined) throw new Error(`A shape has no property ${record}.`);
  const serialize = createSerializer(own);
  const fields = Object.entries(others).map(([name, field]) => [name, createSerializer(field)] as const);
  return (value) => {
    if (!isRecord(value)) return value;
    const beside = fields.map(([name, serialize]) => [name, serialize(value[name])]);
    for (const [name] of fields) value[name] = undefined;
    return { [record]: serialize(value), ...Object.fromEntries(beside) };
  };
}

function createUnionSerializer({ def: { discriminator }, options }: Union): Serialize {
  const serializers = new Map(
    options.flatMap((option) => {
      const serialize = createObjectSerializer(option);
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

/** Lists the values of an enum or a literal. */
function listWords(shape: z.core.$ZodType | undefined): string[] {
  return [...(shape?._zod.values ?? [])].map(String);
}

type Union = z.ZodDiscriminatedUnion<readonly z.ZodObject[], string>;

function isUnion(shape: z.core.$ZodType): shape is Union {
  return shape instanceof z.ZodDiscriminatedUnion;
}
