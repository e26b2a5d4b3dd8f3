import {
  type FieldNode,
  type GraphQLNamedType,
  type GraphQLResolveInfo,
  getNamedType,
  isInterfaceType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type SelectionSetNode,
} from 'graphql';

/** What a field reads of its record: some properties, or what the fields below it read of the same record. */
type Reads = readonly string[] | 'below';

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    reads?: Reads;
    /** The property that a field shows as it is; noted by Pothos. */
    pothosExposedField?: string;
  }
}

/** Tells, as a field's `extensions`, which properties its resolver reads. A field that does not tell may read any. */
export function reads<Item>(...properties: (string & keyof Item)[]): { reads: Reads } {
  return { reads: properties };
}

/** Tells of a field that its resolver hands on the record as it is. */
export const readsBelow: { reads: Reads } = { reads: 'below' };

const ANYTHING = '*';

/** The properties that an operation reads of the records of a list; undefined where it may read any. */
export function readsOf(info: GraphQLResolveInfo): ReadonlySet<string> | undefined {
  const known = remembered.get(info.fieldNodes) ?? collect(info);
  // A compiled operation has the same nodes every time.
  remembered.set(info.fieldNodes, known);
  return known.has(ANYTHING) ? undefined : known;
}

const remembered = new WeakMap<readonly FieldNode[], ReadonlySet<string>>();

function collect({ schema, fragments, fieldNodes, returnType }: GraphQLResolveInfo): Set<string> {
  const entered = new Set<string>();
  const found = fieldNodes.flatMap(({ selectionSet }) => below(getNamedType(returnType), selectionSet));
  // In one order, so that the same choice is the same statement.
  return new Set(found.sort());

  function below(type: GraphQLNamedType | undefined, set: SelectionSetNode | undefined): readonly string[] {
    return (set?.selections ?? []).flatMap((selection) => {
      if (selection.kind === Kind.FIELD) return ofField(type, selection);
      if (selection.kind === Kind.FRAGMENT_SPREAD) return ofFragment(selection.name.value);
      return below(typeOf(selection.typeCondition) ?? type, selection.selectionSet);
    });
  }

  function ofField(type: GraphQLNamedType | undefined, { name, selectionSet }: FieldNode): readonly string[] {
    if (name.value === '__typename') return [];
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[name.value] : undefined;
    const { reads, pothosExposedField: shown } = field?.extensions ?? {};
    if (reads === 'below') return below(field && getNamedType(field.type), selectionSet);
    return reads ?? [shown ?? ANYTHING];
  }

  function ofFragment(name: string): readonly string[] {
    if (entered.has(name)) return [];
    entered.add(name);
    const fragment = fragments[name];
    return below(typeOf(fragment?.typeCondition), fragment?.selectionSet);
  }

  function typeOf(condition: NamedTypeNode | undefined): GraphQLNamedType | undefined {
    return condition && schema.getType(condition.name.value);
  }
}
