import {
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNamedType,
  type SelectionSetNode,
} from 'graphql';
import { type Fragment, findField, selectedFields } from './selected-fields.ts';

/** What a field reads of its record: the given properties, or what its subfields read. */
type Reads = readonly string[] | 'subfields';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    reads?: Reads;
    /** The property that the field exposes unchanged; set by Pothos. */
    pothosExposedField?: string;
  }
}

/**
 * Returns the `extensions` of a field that reads these properties of its record. `reads()` declares that it reads none.
 * A field without these extensions is assumed to read the property that it exposes, or all if it exposes none. `etag`
 * and `counts` are not properties of a record: they request the list's entity tag and the counts of active
 * notifications.
 */
export function reads<Item>(...properties: (string & keyof Item)[]): { reads: Reads } {
  return { reads: properties };
}

/** Declares that a field returns records, and that its subfields declare what they read. */
export const readBySubfields: { reads: Reads } = { reads: 'subfields' };

/** Resolves a field from some properties of its record. The resolver has access to no others. */
export function resolveFrom<Item>() {
  return <Name extends string & keyof Item, Value>(
    properties: readonly Name[],
    resolve: (record: Pick<Item, Name>) => Value,
  ) => ({ extensions: reads<Item>(...properties), resolve });
}

/** Resolves a field to the record of its parent, as another type. */
export const resolveRecord = {
  extensions: readBySubfields,
  resolve: <Item>(record: Item) => record,
};

const ALL_PROPERTIES = '*';

/**
 * Returns the properties that an operation reads of a list's records; `undefined` if it may read all. Contains `etag`
 * and `counts` too if the operation reads them (see {@link reads}).
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
