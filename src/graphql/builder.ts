import SchemaBuilder from '@pothos/core';
import zodPlugin from '@pothos/plugin-zod';
import type { Context } from '../context.ts';
import { ValidationError } from '../errors/gateway-errors.ts';
import { toIssues } from '../errors/validation-issues.ts';
import type { Secret } from '../values/secret.ts';
import type { Time } from '../values/time.ts';
import { defaultRulePlugin } from './default-rule-plugin.ts';
import { rootFieldPlugin } from './root-field-plugin.ts';
import { DateTime, JSONValue, SecretText } from './scalars.ts';
import { inspectArgument } from './secret-inputs.ts';

/** Builds the schema. Every feature adds its own types. */
export const builder = new SchemaBuilder<{
  Context: Context;
  DefaultFieldNullability: false;
  Scalars: {
    ID: { Input: string; Output: string };
    DateTime: { Input: Time; Output: Time };
    JSON: { Input: unknown; Output: unknown };
    Secret: { Input: Secret; Output: Secret };
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

builder.queryType({ description: 'Operations that read data.' });
builder.mutationType({ description: 'Operations that change data.' });
builder.subscriptionType({ description: 'Streams of changes, delivered as they happen.' });
