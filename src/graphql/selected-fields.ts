import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type SelectionSetNode,
} from 'graphql';

/** A selected field, and the innermost type condition around it. */
type SelectedField = { readonly node: FieldNode; readonly typeName: string | undefined };

/**
 * The fields of a selection set, including those in fragments. Each named fragment is entered once: nothing else bounds
 * the work for a document that has not been validated.
 */
export function* selectedFields(
  { selections }: SelectionSetNode,
  findFragment: (name: string) => FragmentDefinitionNode | undefined,
  entered: Set<string> = new Set(),
  typeName?: string,
): Generator<SelectedField> {
  for (const selection of selections) {
    if (selection.kind === Kind.FIELD) {
      yield { node: selection, typeName };
      continue;
    }
    const isNamed = selection.kind === Kind.FRAGMENT_SPREAD;
    if (isNamed && entered.has(selection.name.value)) continue;
    if (isNamed) entered.add(selection.name.value);
    const fragment = isNamed ? findFragment(selection.name.value) : selection;
    if (fragment === undefined) continue;
    const condition = fragment.typeCondition?.name.value ?? typeName;
    yield* selectedFields(fragment.selectionSet, findFragment, entered, condition);
  }
}

/** The field that a type defines under a name. */
export function fieldOf(
  type: GraphQLNamedType | null | undefined,
  name: string,
): GraphQLField<unknown, unknown> | undefined {
  return isObjectType(type) || isInterfaceType(type) ? type.getFields()[name] : undefined;
}
