import {
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNamedType,
  type SelectionSetNode,
} from 'graphql';
import { type Fragment, findField, selectedFields } from './selected-fields.ts';

/** What a field reads of its record: some properties, or what the fields below it read of the same record. */
type Reads = readonly string[] | 'below';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    reads?: Reads;
    /** The property that a field shows as it is; noted by Pothos. */
    pothosExposedField?: string;
  }
}

/** Declares in a field's `extensions` which properties of records it reads. Defaults to all properties. */
export function reads<Item>(...properties: (string & keyof Item)[]): { reads: Reads } {
  return { reads: properties };
}

/** Declares that a field returns records, and that its subfields declare what they read. */
export const readsBelow: { reads: Reads } = { reads: 'below' };

/** Resolves a field from some properties of its record; the resolver sees no others. */
export function resolveFrom<Item>() {
  return <Name extends string & keyof Item, Value>(
    properties: readonly Name[],
    resolve: (record: Pick<Item, Name>) => Value,
  ) => ({ extensions: reads<Item>(...properties), resolve });
}

/** Resolves a field to its own record, as another type. */
export const resolveRecord = {
  extensions: readsBelow,
  resolve: <Item>(record: Item) => record,
};

const ANYTHING = '*';

/** The properties that an operation reads of the records of a list; undefined where it may read any. */
export function selectedProperties(info: GraphQLResolveInfo): ReadonlySet<string> | undefined {
  const known = remembered.get(info.fieldNodes) ?? collect(info);
  // A compiled operation has the same nodes every time.
  remembered.set(info.fieldNodes, known);
  return known.has(ANYTHING) ? undefined : known;
}

const remembered = new WeakMap<GraphQLResolveInfo['fieldNodes'], ReadonlySet<string>>();

function collect({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): Set<string> {
  const entered = new Set<Fragment>();
  const fragmentsByName = new Map(Object.entries(fragments));
  const found = fieldNodes.flatMap(({ selectionSet }) => below(returnType, selectionSet));
  // In one order, so that the same choice is the same statement.
  return new Set(found.sort());

  function below(type: GraphQLOutputType, set: SelectionSetNode | undefined): string[] {
    if (set === undefined) return [];
    return selectedFields(set, fragmentsByName, entered)
      .flatMap(({ node: { name, selectionSet }, typeName = getNamedType(type).name }) => {
        const field = findField(schema.getType(typeName), name.value);
        if (field === undefined) return name.value === '__typename' ? [] : [ANYTHING];
        const { reads, pothosExposedField: shown } = field.extensions;
        return reads === 'below' ? below(field.type, selectionSet) : (reads ?? [shown ?? ANYTHING]);
      })
      .toArray();
  }
}
