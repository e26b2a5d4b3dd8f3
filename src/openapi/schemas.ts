import { z } from 'zod';

/** An object of JSON Schema, or of OpenAPI. */
export type Json = Readonly<Record<string, unknown>>;

/** Converts shapes to JSON schemas by name. Every shape with an ID becomes a component. */
export function toSchemas(shapes: Readonly<Record<string, z.ZodType>>) {
  const { properties, $defs } = z.toJSONSchema(z.object(shapes), {
    // Removes what zod adds to a JSON schema, and adds what OpenAPI requires.
    override({ zodSchema, jsonSchema }) {
      // The format or the referenced schema already has the pattern.
      if (zodSchema instanceof z.ZodStringFormat || jsonSchema.$ref !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (zodSchema instanceof z.ZodDiscriminatedUnion) jsonSchema.discriminator = toDiscriminator(zodSchema);
    },
  });
  const text = JSON.stringify({ schemas: properties, components: $defs });
  return Schemas.parse(JSON.parse(text.replaceAll('"#/$defs/', `"${reference('schemas', '').$ref}`)));
}

const Schema = z.record(z.string(), z.unknown());
const Schemas = z.object({ schemas: z.record(z.string(), Schema), components: Schema });

/** Converts a shape without components to a JSON schema. */
export function toSchema(shape: z.ZodType): Json {
  const { $schema: _, ...schema } = z.toJSONSchema(shape);
  return schema;
}

/** Creates a reference to a component. */
export function reference(kind: 'schemas' | 'parameters' | 'headers' | 'responses', name: string) {
  return { $ref: `#/components/${kind}/${name}` };
}

/** Creates a reference to the component of a shape. @throws {Error} if the shape has no ID */
export function referenceComponent(shape: z.core.$ZodType) {
  const id = z.globalRegistry.get(shape)?.id;
  if (id === undefined) throw new Error('A referenced shape must have an ID.');
  return reference('schemas', id);
}

function toDiscriminator({ def, options }: z.ZodDiscriminatedUnion): Json {
  const mapping = options.flatMap((option) => {
    const words = option._zod.propValues?.[def.discriminator] ?? [];
    return [...words].map((word) => [String(word), referenceComponent(option).$ref]);
  });
  return { propertyName: def.discriminator, mapping: Object.fromEntries(mapping) };
}
