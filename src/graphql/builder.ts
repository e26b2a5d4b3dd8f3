import SchemaBuilder from '@pothos/core';
import zodPlugin from '@pothos/plugin-zod';
import type { Context } from '../context.ts';
import { type Path, ValidationError } from '../errors.ts';
import { faultsOf, type Place } from '../faults.ts';
import type { Secret } from '../secret.ts';
import type { Time } from '../time.ts';
import { defaultRulePlugin } from './default-rule-plugin.ts';
import { rootFieldPlugin } from './root-field-plugin.ts';
import { DateTime, JSONValue, SecretText } from './scalars.ts';
import { inspectInput } from './secret-inputs.ts';

/** Makes the schema. Defines no type of the domain; every feature adds its own. */
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
      const field = info.parentType.getFields()[info.fieldName];
      const inspect = ([name, ...path]: Path): Place => {
        const argument = field?.args.find((argument) => argument.name === name);
        if (argument === undefined) return { isSecret: false, declaredSteps: 0 };
        const { isSecret, declaredSteps } = inspectInput(argument.type, path);
        return { isSecret, declaredSteps: declaredSteps + 1 };
      };
      return new ValidationError(faultsOf({ error }, args, [], inspect));
    },
  },
});

builder.addScalarType('DateTime', DateTime);
builder.addScalarType('JSON', JSONValue);
builder.addScalarType('Secret', SecretText);

builder.queryType({ description: 'Everything that can be read.' });
builder.mutationType({ description: 'Everything that can be changed.' });
builder.subscriptionType({ description: 'Everything that can be watched.' });
