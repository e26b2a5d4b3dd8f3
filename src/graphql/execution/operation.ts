import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Viewer } from '../../auth/viewer.ts';
import type { Context } from '../../context.ts';
import type { GatewayError } from '../../errors.ts';
import { type Access, accessOf, checkAccess } from '../access.ts';
import { asGatewayError } from '../mask.ts';
import { findVariables, type Variable } from './variables.ts';

/** One operation of a valid document. */
export type Operation = {
  readonly document: DocumentNode;
  readonly node: OperationDefinitionNode;
  readonly variables: readonly Variable[];
  /** The access that each root field declares, once for each name in the reply. Introspection is left out. */
  readonly rootAccess: readonly Access[];
};

/** Finds the operation of a name, or without one the only operation. */
export type FindOperation = (name: string | undefined) => Operation | undefined;

/** The operations of a valid document, each made when it is first asked for. */
export function createOperations(schema: GraphQLSchema, document: DocumentNode): FindOperation {
  const operations = new Map<OperationDefinitionNode, Operation>();
  return (name) => {
    const node = getOperationAST(document, name);
    if (!node) return undefined;
    const operation = operations.get(node) ?? {
      document,
      node,
      variables: findVariables(schema, document, node),
      rootAccess: askedFields(schema, document, node).map(({ name, extensions }) =>
        accessOf(name, extensions),
      ),
    };
    operations.set(node, operation);
    return operation;
  };
}

/**
 * Why a viewer may not run an operation: an error for each root field that is refused, without `args` whatever its
 * arguments are.
 */
export function refusals({ rootAccess }: Operation, viewer: Viewer, args?: Arguments): GatewayError[] {
  return rootAccess.flatMap((access) => refusalOf(access, viewer, args) ?? []);
}

/** The root fields of an operation that a viewer may ask for, as far as that is known without their arguments. */
export function allowedAccess({ rootAccess }: Operation, viewer: Viewer): Access[] {
  return rootAccess.filter((access) => refusalOf(access, viewer) === undefined);
}

type Arguments = Readonly<Record<string, unknown>>;

function refusalOf(access: Access, viewer: Viewer, args?: Arguments): GatewayError | undefined {
  try {
    checkAccess(access, viewer, args);
    return undefined;
  } catch (error) {
    return asGatewayError(error);
  }
}

/** Whether every root field of every operation is introspection, which needs no token while GraphiQL is on. */
export function isIntrospection(document: DocumentNode): boolean {
  return document.definitions.every(
    (definition) =>
      definition.kind !== Kind.OPERATION_DEFINITION ||
      rootFields(document, definition.selectionSet).every(({ name }) => name.value.startsWith('__')),
  );
}

/** The root fields that an operation asks for, as the schema defines them, one for each name in the reply. */
function askedFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
): GraphQLField<unknown, Context>[] {
  const defined = schema.getRootType(operation.operation)?.getFields() ?? {};
  const asked = rootFields(document, operation.selectionSet);
  const byResponseName = new Map(asked.map(({ alias, name }) => [(alias ?? name).value, name.value]));
  return [...byResponseName.values()].flatMap((name) => defined[name] ?? []);
}

/** The fields that an operation selects at its root, through fragments too; each fragment is entered once. */
function rootFields(document: DocumentNode, selectionSet: SelectionSetNode): FieldNode[] {
  const entered = new Set<string>();
  return fieldsOf(selectionSet);

  function fieldsOf({ selections }: SelectionSetNode): FieldNode[] {
    return selections.flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return [selection];
      if (selection.kind === Kind.INLINE_FRAGMENT) return fieldsOf(selection.selectionSet);
      return spread(selection.name.value);
    });
  }

  function spread(name: string): FieldNode[] {
    if (entered.has(name)) return [];
    entered.add(name);
    return document.definitions.flatMap((definition) =>
      definition.kind === Kind.FRAGMENT_DEFINITION && definition.name.value === name
        ? fieldsOf(definition.selectionSet)
        : [],
    );
  }
}
