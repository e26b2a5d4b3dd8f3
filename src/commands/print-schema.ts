import { writeFile } from 'node:fs/promises';
import { printSchemaWithDirectives } from '@graphql-tools/utils';
import { assembleSchema } from '../schema.ts';

const schema = assembleSchema();

/** The text of `schema.graphql`: the schema with its directives and the default rate limits. */
export function printSchema(): string {
  return `${printSchemaWithDirectives(schema)}\n`;
}

/** The text of `rest/root-field.ts`: the root fields that a REST route may run, as a type. */
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
