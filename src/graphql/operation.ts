import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type SelectionSetNode,
} from 'graphql';
import type { Viewer } from '../auth/viewer.ts';
import type { Context } from '../context.ts';
import type { GatewayError } from '../errors.ts';
import { accessOf, checkAccess } from './access.ts';
import { asGatewayError } from './gateway-error.ts';
import { holdsSecret } from './holds-secret.ts';

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

/** Whether every root field of every operation is introspection, which needs no token while GraphiQL is on. */
export function isIntrospection(document: DocumentNode): boolean {
  return document.definitions.every(
    (definition) =>
      definition.kind !== Kind.OPERATION_DEFINITION ||
      rootFields(document, definition.selectionSet).every(({ name }) => name.value.startsWith('__')),
  );
}

/** The root fields that an operation asks for, as the schema defines them; introspection is none of them. */
function askedFields(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): GraphQLField<unknown, Context>[] {
  const operation = getOperationAST(document, operationName);
  const fields = operation && schema.getRootType(operation.operation)?.getFields();
  if (!operation || !fields) return [];
  return rootFields(document, operation.selectionSet).flatMap(({ name }) => fields[name.value] ?? []);
}

/** Whether an operation takes a credential, in a variable or written out. */
export function takesSecret(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
): boolean {
  return askedFields(schema, document, operationName).some(({ args }) =>
    args.some(({ type }) => holdsSecret(type)),
  );
}

/**
 * Why a viewer may not run an operation, a reason for each root field that is refused. Without `args` only what
 * is refused whatever the arguments are.
 */
export function refusals(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  viewer: Viewer,
  args?: Readonly<Record<string, unknown>>,
): GatewayError[] {
  return askedFields(schema, document, operationName).flatMap(({ name, extensions }) => {
    try {
      checkAccess(accessOf(name, extensions), viewer, args);
      return [];
    } catch (error) {
      return [asGatewayError(error)];
    }
  });
}
