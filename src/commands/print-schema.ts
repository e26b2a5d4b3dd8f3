import { writeFile } from 'node:fs/promises';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { assembleSchema } from '../schema.ts';

const schema = assembleSchema();

/** Returns the content of `schema.graphql`: the schema with directives and default rate limits. */
export function printSchema(): string {
  return `${printSchemaWithDirectives(schema)}\n`;
}

/** Returns the content of `rest/root-field.ts`: the type of root fields that REST routes can name. */
export function printRootField(): string {
  const roots = [schema.getQueryType(), schema.getMutationType()];
  const names = roots.flatMap((root) => Object.keys(root?.getFields() ?? {}));
  const members = names.sort().map((name) => `\n  | '${name}'`);
  return `/** A query or mutation of the schema. Written by \`npm run schema\`. */\nexport type RootField =${members.join('')};\n`;
}

if (import.meta.main) {
  await writeFile(new URL('../../schema.graphql', import.meta.url), printSchema());
  await writeFile(new URL('../../rest/root-field.ts', import.meta.url), printRootField());
}
