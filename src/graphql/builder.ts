import SchemaBuilder, { ImplementableInterfaceRef, ImplementableObjectRef } from '@pothos/core';
import zodPlugin from '@pothos/plugin-zod';
import type { Context, RootValue } from '../context.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { toIssues } from '../errors/validation-issues.ts';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { defaultRulePlugin, rootFieldPlugin } from './builder-plugins.ts';
import { DateTime, EmailAddress, JSONValue, LinkURL, SecretText } from './scalars.ts';
import { inspectArgument } from './secret-inputs.ts';

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

/**
 * Creates the reference of an object type for records. Resolvers return records with the selected properties only.
 * Fields are typed with the whole row, because `findSelectedProperties` selects everything they read.
 */
export function createRecordRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableObjectRef<Types, Selected, Row>(builder, name);
}

/** Creates the reference of an interface for such object types. */
export function createRecordInterfaceRef<Row extends object, Selected extends Partial<Row>>(name: string) {
  return new ImplementableInterfaceRef<Types, Selected, Row>(builder, name);
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
