import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { codegen } from '@graphql-codegen/core';
import * as documentNodes from '@graphql-codegen/typed-document-node';
import * as operationTypes from '@graphql-codegen/typescript-operations';
import {
  type ExecutableDefinitionNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  stripIgnoredCharacters,
  visit,
} from 'graphql';

// Writes the typed operations of `operations.graphql`: their types, their text for this client, and their document nodes
// for other GraphQL clients.

const read = (path: string) => parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const schema = read('../../schema.graphql');
const operations = read('operations.graphql');

const folder = new URL('src/generated/', import.meta.url);
mkdirSync(folder, { recursive: true });

/** Generates the content of a file by a plugin of GraphQL Code Generator. */
function generate(filename: string, plugin: 'operationTypes' | 'documentNodes'): Promise<string> {
  const scalars = {
    ID: 'string',
    DateTime: 'string',
    JSON: 'unknown',
    Secret: 'string',
    URL: 'string',
    EmailAddress: 'string',
  };
  return codegen({
    filename,
    schema,
    documents: [{ location: 'operations.graphql', document: operations }],
    config: {
      useTypeImports: true,
      enumType: 'string-literal',
      immutableTypes: true,
      inlineFragmentTypes: 'combine',
      dedupeFragments: true,
      strictScalars: true,
      scalars,
      documentVariableSuffix: '',
      fragmentVariableSuffix: 'Fragment',
      importOperationTypesFrom: 'Types',
    },
    plugins: [{ [plugin]: {} }],
    pluginMap: { operationTypes, documentNodes },
  });
}

const HEADER = '// Generated from operations.graphql and schema.graphql by `npm run generate`.\n';

function write(filename: string, content: string): void {
  writeFileSync(new URL(filename, folder), `${HEADER}${content}`);
}

write('types.ts', await generate('types.ts', 'operationTypes'));
write(
  'operations.ts',
  `import type * as Types from './types.ts';\n${await generate('operations.ts', 'documentNodes')}`,
);
write('documents.ts', printDocuments());

/** Prints the text of every operation; those that share a fragment share its text. */
function printDocuments(): string {
  const definitions = operations.definitions.filter(
    (node): node is ExecutableDefinitionNode =>
      node.kind === Kind.OPERATION_DEFINITION || node.kind === Kind.FRAGMENT_DEFINITION,
  );
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  const texts = fragments.map(
    (node) => `const ${node.name.value}Fragment = ${JSON.stringify(stripIgnoredCharacters(print(node)))};\n`,
  );
  const documents = definitions
    .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
    .map((node) => printDocument(node, fragments));
  const imports = `import { TypedDocument } from '../typed-document.ts';\nimport type * as Types from './types.ts';\n\n`;
  return `${imports}${texts.join('')}\n${documents.join('')}`;
}

function printDocument(
  operation: OperationDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
): string {
  const name = operation.name?.value;
  if (name === undefined) throw new Error('An operation has no name.');
  const type = `${name}${operation.operation[0]?.toUpperCase()}${operation.operation.slice(1)}`;
  const parts = [JSON.stringify(stripIgnoredCharacters(print(operation)))];
  for (const used of findFragments(operation, fragments)) parts.push(`${used}Fragment`);
  return `export const ${name} = new TypedDocument<Types.${type}, Types.${type}Variables>(${parts.join(' + ')});\n`;
}

/** Returns the names of the fragments that a definition uses, directly or in other fragments. */
function findFragments(
  definition: ExecutableDefinitionNode,
  fragments: readonly FragmentDefinitionNode[],
  found: Set<string> = new Set(),
): Set<string> {
  visit(definition, {
    FragmentSpread({ name: { value } }) {
      const fragment = fragments.find(({ name }) => name.value === value);
      if (fragment === undefined) throw new Error(`The fragment ${value} is not defined.`);
      if (found.has(value)) return;
      found.add(value);
      findFragments(fragment, fragments, found);
    },
  });
  return found;
}
