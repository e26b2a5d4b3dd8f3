import { mkdirSync, writeFileSync } from 'node:fs';
import { Kind } from 'graphql';
import { generate } from '../../clients/typescript/generate.ts';
import { operations } from './operations.ts';

/* Writes the types of the operations that tests send to generated/types.ts, which is not committed. */

const members = operations.definitions.flatMap((node) => {
  if (node.kind !== Kind.OPERATION_DEFINITION) return [];
  const type = `${node.name?.value}${node.operation.charAt(0).toUpperCase()}${node.operation.slice(1)}`;
  return `  ${node.name?.value}: [${type}, ${type}Variables];\n`;
});
const types = await generate('types.ts', 'operationTypes', operations);
const folder = new URL('generated/', import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(
  new URL('types.ts', folder),
  `${types}\n/** The data and variables of each operation. */\nexport type Operations = {\n${members.join('')}};\n`,
);
