import { readFileSync, writeFileSync } from 'node:fs';
import { codegen } from '@graphql-codegen/core';
import * as documentNodes from '@graphql-codegen/typed-document-node';
import * as operationTypes from '@graphql-codegen/typescript-operations';
import {
  type ASTNode,
  buildASTSchema,
  type DocumentNode,
  type ExecutableDefinitionNode,
  type FragmentDefinitionNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  stripIgnoredCharacters,
  visit,
} from 'graphql';
import { printIntrospection, printObjectTypes } from './print-cache-schema.ts';

const read = (path: string) => parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const schema = read('../../schema.graphql');
const operations = read('operations.graphql');

/** Generates the content of a file by a plugin of GraphQL Code Generator. */
export function generate(
  filename: string,
  plugin: 'operationTypes' | 'documentNodes',
  document = operations,
): Promise<string> {
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
    documents: [{ location: 'operations.graphql', document }],
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

/**
 * Generates the files of src/generated/, by their names: the types of the operations in operations.graphql, their text for
 * this client, their document nodes for other clients, and what caches need to know of the schema.
 */
export async function generateFiles(): Promise<Record<string, string>> {
  const built = buildASTSchema(schema);
  const files = {
    'types.ts': await generate('types.ts', 'operationTypes'),
    'operations.ts': `import type * as Types from './types.ts';\n${await generate('operations.ts', 'documentNodes')}`,
    'documents.ts': printDocuments(operations),
    'object-types.ts': printObjectTypes(built),
    'introspection.ts': printIntrospection(built),
  };
  const header = '// Generated from operations.graphql and schema.graphql by `npm run schema`.\n';
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => [name, `${header}${text.trimEnd()}\n`]),
  );
}

/** Prints the text of every operation; those that share a fragment share its text. */
function printDocuments(document: DocumentNode): string {
  const definitions = document.definitions.filter(
    (node): node is ExecutableDefinitionNode => node.kind === Kind.OPERATION_DEFINITION || isFragment(node),
  );
  const used = new Set(
    definitions
      .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
      .flatMap((node) => [...findFragments(node, definitions.filter(isFragment))]),
  );
  const fragments = definitions.filter(isFragment).filter(({ name }) => used.has(name.value));
  const texts = fragments.map(
    (node) => `const ${node.name.value}Fragment = ${JSON.stringify(stripIgnoredCharacters(print(node)))};\n`,
  );
  const documents = definitions
    .filter((node) => node.kind === Kind.OPERATION_DEFINITION)
    .map((node) => printDocument(node, fragments));
  const imports = `import { TypedDocument } from '../typed-document.ts';\nimport type * as Types from './types.ts';\n\n`;
  return `${imports}${texts.join('')}\n${documents.join('')}`;
}

function isFragment(node: ASTNode): node is FragmentDefinitionNode {
  return node.kind === Kind.FRAGMENT_DEFINITION;
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

if (import.meta.main) {
  for (const [name, text] of Object.entries(await generateFiles()))
    writeFileSync(new URL(`src/generated/${name}`, import.meta.url), text);
}
