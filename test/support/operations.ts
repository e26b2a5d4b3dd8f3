import { readFileSync } from 'node:fs';
import { type ExecutableDefinitionNode, Kind, parse } from 'graphql';

/** Reads the operations and fragments of a file. */
const read = (path: string) =>
  parse(readFileSync(new URL(path, import.meta.url), 'utf8')).definitions.filter(
    (node): node is ExecutableDefinitionNode => 'selectionSet' in node,
  );
const ofTests = read('operations.graphql');
const names = new Set(ofTests.map(({ name }) => name?.value));
const ofClients = read('../../clients/typescript/operations.graphql').filter(
  ({ name }) => !names.has(name?.value),
);

/** The operations of `operations.graphql`, and those of clients that have other names. */
export const operations = { kind: Kind.DOCUMENT as const, definitions: [...ofTests, ...ofClients] };
