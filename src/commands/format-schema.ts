import { writeFile } from 'node:fs/promises';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { schema } from '../schema.ts';

/** Returns the content of `schema.graphql`: the schema with directives and default rate limits. */
export function formatSchema(): string {
  return `${printSchemaWithDirectives(schema)}\n`;
}

if (import.meta.main) {
  await writeFile(new URL('../../schema.graphql', import.meta.url), formatSchema());
}
