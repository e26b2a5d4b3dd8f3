import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type InlineFragmentNode,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

/** A fragment, named or inline. */
export type Fragment = FragmentDefinitionNode | InlineFragmentNode;

/** A selected field, and the innermost type condition around it. */
type SelectedField = { readonly node: FieldNode; readonly typeName: string | undefined };

/**
 * Yields the fields of a selection set, including those in fragments. Each fragment is entered once, which limits the
 * work for a document that is not validated.
 */
export function* selectedFields(
  { selections }: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  entered: Set<Fragment> = new Set(),
  typeName?: string,
): Generator<SelectedField> {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      yield { node: selection, typeName };
      continue;
    }
    const isSpread = selection.kind === Kind.FRAGMENT_SPREAD;
    const fragment = isSpread ? fragments.get(selection.name.value) : selection;
    if (fragment === undefined || entered.has(fragment)) continue;
    entered.add(fragment);
    const condition = fragment.typeCondition?.name.value ?? typeName;
    yield* selectedFields(fragment.selectionSet, fragments, entered, condition);
  }
}

/** Finds a type's field by name. */
export function findField(
  type: GraphQLNamedType | null | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  return isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
}
