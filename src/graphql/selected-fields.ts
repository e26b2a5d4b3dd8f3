import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNamedType,
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

/** What a field reads of its record: the given properties, or what its subfields read. */
export type Reads = readonly string[] | 'subfields';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    reads?: Reads;
    /** The property that the field exposes unchanged; set by Pothos. */
    pothosExposedField?: string;
  }
}

/**
 * Returns the `extensions` of a field that reads these properties of its record. `reads()` declares that it reads none.
 * A field without these extensions is assumed to read the property that it exposes, or all if it exposes none. `counts`
 * is not a property of a record: it requests the counts of active notifications.
 */
export function reads<Item>(...properties: (string & keyof Item)[]): { reads: Reads } {
  return { reads: properties };
}

/** Declares that a field returns records, and that its subfields declare what they read. */
export const readBySubfields: { reads: Reads } = { reads: 'subfields' };

const ALL_PROPERTIES = '*';

/**
 * Returns the properties that an operation reads of a list's records; `undefined` if it may read all. Contains
 * `counts` too if the operation reads them (see {@link reads}).
 */
export function findSelectedProperties(info: GraphQLResolveInfo): ReadonlySet<string> | undefined {
  const found = cache.get(info.fieldNodes) ?? collectProperties(info);
  cache.set(info.fieldNodes, found);
  return found.has(ALL_PROPERTIES) ? undefined : found;
}

/** Cached properties. The key is `fieldNodes`, which is the same array each time a compiled operation runs. */
const cache = new WeakMap<GraphQLResolveInfo['fieldNodes'], ReadonlySet<string>>();

function collectProperties({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): Set<string> {
  const entered = new Set<Fragment>();
  const fragmentsByName = new Map(Object.entries(fragments));
  const found = fieldNodes.flatMap(({ selectionSet }) => collectBelow(returnType, selectionSet));
  // Sorted, so that the same properties make the same SQL statement.
  return new Set(found.sort());

  function collectBelow(type: GraphQLOutputType, set: SelectionSetNode | undefined): string[] {
    if (set === undefined) return [];
    return selectedFields(set, fragmentsByName, entered)
      .flatMap(({ node: { name, selectionSet }, typeName = getNamedType(type).name }) => {
        const field = findField(schema.getType(typeName), name.value);
        if (field === undefined) return name.value === '__typename' ? [] : [ALL_PROPERTIES];
        const { reads, pothosExposedField: exposed } = field.extensions;
        return reads === 'subfields'
          ? collectBelow(field.type, selectionSet)
          : (reads ?? [exposed ?? ALL_PROPERTIES]);
      })
      .toArray();
  }
}
