import SchemaBuilder, {
  type FieldNullability,
  ImplementableInterfaceRef,
  ImplementableObjectRef,
  type InputFieldMap,
  ObjectFieldBuilder,
  type TypeParam,
} from '@pothos/core';
import zodPlugin from '@pothos/plugin-zod';
import type { Context, RootValue } from '../context.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { toIssues } from '../errors/validation-issues.ts';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { defaultRulePlugin, rootFieldPlugin } from './builder-plugins.ts';
import { DateTime, EmailAddress, JSONValue, LinkURL, SecretText } from './scalars.ts';
import { inspectArgument } from './secret-inputs.ts';
import type { Reads } from './selected-fields.ts';

/** Builds the schema. Every feature adds its own types. */
export const builder = new SchemaBuilder<{
  Context: Context;
  Root: RootValue;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Time; Output: Time };
    JSON: { Input: unknown; Output: unknown };
    Secret: { Input: Secret; Output: Secret };
    EmailAddress: { Input: Secret; Output: string };
    URL: { Input: string; Output: string };
  };
}>({
  defaultFieldNullability: false,
  plugins: [rootFieldPlugin, zodPlugin, defaultRulePlugin],
  zod: {
    validationError: (error, args, _context, info) => {
      const declared = info.parentType.getFields()[info.fieldName]?.args ?? [];
      return new ValidationError(toIssues({ error }, args, [], (path) => inspectArgument(declared, path)));
    },
  },
});

builder.addScalarType('DateTime', DateTime);
builder.addScalarType('JSON', JSONValue);
builder.addScalarType('Secret', SecretText);
builder.addScalarType('EmailAddress', EmailAddress);
builder.addScalarType('URL', LinkURL);

builder.queryType({ description: 'Operations that read data.' });
builder.mutationType({ description: 'Operations that change data.' });
builder.subscriptionType({ description: 'Streams of changes, delivered as they happen.' });

type Types = typeof builder.$inferSchemaTypes;

/** The columns that are read whatever is selected. */
type Always<Selected> = {
  [Name in keyof Selected as object extends Pick<Selected, Name> ? never : Name]: Selected[Name];
};

/**
 * Creates the reference of an object type for records. Resolvers return records with the selected columns only. A field
 * of the type that reads a column which may not be selected is made by {@link columnsOf}.
 */
export function createRecordRef<Selected extends object>(name: string) {
  return new ImplementableObjectRef<Types, Selected, Always<Selected>>(builder, name);
}

/** Creates the reference of an interface for such object types. */
export function createRecordInterfaceRef<Selected extends object>(name: string) {
  return new ImplementableInterfaceRef<Types, Selected, Always<Selected>>(builder, name);
}

/**
 * Returns what makes the fields of a record type: `expose…` for the value of a column, `from` for a value of several
 * columns, which the resolver has access to, and `nested` for another type of the same record. A query reads the columns
 * of the fields that it selects.
 */
export function columnsOf<Row extends object, Selected extends object>(): Columns<Row, Selected> {
  return new RecordFields<Row, Selected>(builder);
}

type Exposing = Extract<keyof ObjectFieldBuilder<Types, object>, `expose${string}`>;

type Columns<Row extends object, Selected extends object> = Pick<
  RecordFields<Row, Selected>,
  Exposing | 'from' | 'nested'
>;

class RecordFields<Row extends object, Selected extends object> extends ObjectFieldBuilder<Types, Row> {
  readonly nested: ObjectFieldBuilder<Types, Selected> = new ReadingFields<Selected>('subfields');

  from<Name extends string & keyof Row>(...columns: Name[]): ObjectFieldBuilder<Types, Pick<Row, Name>> {
    return new ReadingFields<Pick<Row, Name>>(columns);
  }
}

/** Makes fields that declare what they read of their record. */
class ReadingFields<Row extends object> extends ObjectFieldBuilder<Types, Row> {
  readonly #reads: Reads;

  constructor(reads: Reads) {
    super(builder);
    this.#reads = reads;
  }

  protected override createField<
    Type extends TypeParam<Types>,
    Nullable extends FieldNullability<Type>,
    Args extends InputFieldMap,
  >(options: PothosSchemaTypes.FieldOptions<Types, Row, Type, Nullable, Args, unknown, object>) {
    const extensions = { ...options.extensions, reads: this.#reads };
    return super.createField<Type, Nullable, Args>({ ...options, extensions });
  }
}

/** Converts a closed list to the values of a GraphQL enum: each member in upper case, with its description. */
export function toEnumValues<Member extends string>(
  members: readonly Member[],
  descriptions: Readonly<Record<NoInfer<Member>, string>>,
) {
  return Object.fromEntries(
    members.map((member) => [member.toUpperCase(), { value: member, description: descriptions[member] }]),
  );
}

/** The argument `userId` of subscriptions. A field that has it declares `otherUserScope`. */
export const userArgument = { description: "The user's ID. Defaults to the caller." };
