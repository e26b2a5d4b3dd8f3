import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  print,
} from 'graphql';
import { requireAccess } from '../auth/access.ts';
import { BadRequestError } from '../errors/gateway-errors.ts';
import { FREE_COST } from '../quota/running-documents.ts';
import { createMeter } from './document-limits.ts';
import { type Fragment, findField, selectedFields } from './selected-fields.ts';
import { findVariables } from './variables.ts';

/** One operation of a valid document. */
export type Operation = Readonly<ReturnType<typeof createOperation>>;

/** The operations of the documents that are still in use. Yoga caches the documents. */
const operations = new WeakMap<OperationDefinitionNode, Operation>();

/**
 * Finds the operation with a name in a valid document, or its only operation.
 * @throws {BadRequestError} if there is no such operation, or if there are several and no name
 */
export function findOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  name?: string | null,
): Operation {
  const node = getOperationAST(document, name);
  if (!node) throw new BadRequestError('Could not determine what operation to execute.');
  const operation = operations.get(node) ?? createOperation(schema, document, node);
  operations.set(node, operation);
  return operation;
}

/** Creates an operation of a valid document. */
function createOperation(schema: GraphQLSchema, document: DocumentNode, node: OperationDefinitionNode) {
  const fragments = indexFragments(document);
  return {
    document,
    node,
    variables: findVariables(schema, document, node),
    /** The access that the root fields declare, once per response name. Introspection fields are omitted. */
    rootAccess: collectRootAccess(schema, fragments, node),
    ...createCostMeasure(schema, fragments, node),
  };
}

/** Returns the maximum cost of an operation, and the function that returns its cost with given variables. */
function createCostMeasure(schema: GraphQLSchema, fragments: Fragments, node: OperationDefinitionNode) {
  const measure = (variables: Readonly<Record<string, unknown>>) =>
    createMeter(schema, (name) => fragments.get(name), variables)(node).cost;
  const maximum = measure({});
  const numbers = (node.variableDefinitions ?? []).flatMap(({ variable, type, defaultValue }) =>
    print(type).startsWith('Int') ? { name: variable.name.value, preset: defaultValue } : [],
  );
  // Clients repeat the same page sizes.
  let latest = { key: '', cost: maximum };
  const measureCost = (given: Readonly<Record<string, unknown>>): number => {
    if (maximum <= FREE_COST || numbers.length === 0) return maximum;
    const sizes = numbers.map(({ name, preset }) => [
      name,
      given[name] ?? (preset?.kind === Kind.INT ? Number(preset.value) : null),
    ]);
    const key = JSON.stringify(sizes);
    if (latest.key !== key) latest = { key, cost: measure(Object.fromEntries(sizes)) };
    return latest.cost;
  };
  return { cost: maximum, measureCost };
}

/** Whether all root fields of all operations are introspection, which requires no token while GraphiQL is enabled. */
export function isIntrospection(document: DocumentNode): boolean {
  const fragments = indexFragments(document);
  const entered = new Set<Fragment>();
  return document.definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .flatMap(({ selectionSet }) => [...selectedFields(selectionSet, fragments, entered)])
    .every(({ node }) => node.name.value.startsWith('__'));
}

function collectRootAccess(schema: GraphQLSchema, fragments: Fragments, node: OperationDefinitionNode) {
  const rootType = schema.getRootType(node.operation);
  const selected = selectedFields(node.selectionSet, fragments);
  const names = new Map(selected.map(({ node: { alias, name } }) => [(alias ?? name).value, name.value]));
  return [...names.values()].flatMap((name) => {
    const field = findField(rootType, name);
    return field ? requireAccess(name, field.extensions) : [];
  });
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

function indexFragments({ definitions }: DocumentNode): Fragments {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}
