import { writeFile } from 'node:fs/promises';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { assembleSchema } from '../schema.ts';

/** The text of `schema.graphql`: the schema with its directives and the default rate limits. */
export function printSchema(): string {
  return `${printSchemaWithDirectives(assembleSchema())}\n`;
}

if (import.meta.main) await writeFile(new URL('../../schema.graphql', import.meta.url), printSchema());
