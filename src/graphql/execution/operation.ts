import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { type Access, checkAccess, requireAccess } from '../../auth/access.ts';
import type { Viewer } from '../../auth/viewer.ts';
import { BadRequestError } from '../../errors/gateway-errors.ts';
import { type Fragment, selectedFields } from '../selected-fields.ts';
import { findVariables, type Variable, type VariableValues } from './variables.ts';

/** One operation of a valid document. */
export type Operation = {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly variables: readonly Variable[];
  /** The access that the root fields declare, once per response name. Introspection fields are omitted. */
  readonly rootAccess: readonly Access[];
};

/**
 * Finds the operation with a name in a valid document, or its only operation.
 * @throws {BadRequestError} if there is no such operation, or if there are several and no name
 */
export type FindOperation = (name?: string) => Operation;

/** Creates the operations of a valid document, each on first use. */
export function createOperations(schema: GraphQLSchema, document: DocumentNode): FindOperation {
  const operations = new Map<OperationDefinitionNode, Operation>();
  return (name) => {
    const node = getOperationAST(document, name);
    if (!node) throw new BadRequestError(NO_OPERATION);
    const operation = operations.get(node) ?? {
      document,
      node,
      variables: findVariables(schema, document, node),
      rootAccess: collectRootAccess(schema, document, node),
    };
    operations.set(node, operation);
    return operation;
  };
}

const NO_OPERATION = 'The document must have exactly one operation, or one with the name in `operationName`.';

/**
 * Returns the access of the root fields that a viewer may select (`permitted`), and one error for every root field that
 * the viewer may not select (`refusals`). While the arguments are unknown (`args` is undefined), a field is refused
 * only if it would be refused whatever its arguments are.
 */
export function checkPermissions({ rootAccess }: Operation, viewer: Viewer, args?: VariableValues) {
  const checked = rootAccess.map((access) => ({ access, refusal: checkAccess(access, viewer, args) }));
  return {
    permitted: checked.flatMap(({ access, refusal }) => (refusal ? [] : access)),
    refusals: checked.flatMap(({ refusal }) => refusal ?? []),
  };
}

/** Whether all root fields of all operations are introspection, which requires no token while GraphiQL is enabled. */
export function isIntrospection(document: DocumentNode): boolean {
  const fragments = indexFragments(document);
  const entered = new Set<Fragment>();
  return document.definitions.every(
    (definition) =>
      definition.kind !== Kind.OPERATION_DEFINITION ||
      selectedFields(definition.selectionSet, fragments, entered).every(({ node }) =>
        node.name.value.startsWith('__'),
      ),
  );
}

function collectRootAccess(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
) {
  const defined = schema.getRootType(operation.operation)?.getFields() ?? {};
  const selected = selectedFields(operation.selectionSet, indexFragments(document));
  const byResponseName = new Map(
    selected.map(({ node: { alias, name } }) => [(alias ?? name).value, name.value]),
  );
  return [...byResponseName.values()].flatMap((name) =>
    defined[name] ? requireAccess(name, defined[name].extensions) : [],
  );
}

function indexFragments({ definitions }: DocumentNode): Map<string, FragmentDefinitionNode> {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}
