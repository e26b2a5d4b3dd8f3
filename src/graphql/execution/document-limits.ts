import {
  type ASTVisitor,
  BREAK,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isListType,
  Kind,
  type NamedTypeNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../connection.ts';
import { findField } from '../selected-fields.ts';

/** Limits of one document. GraphiQL's introspection and a whole screen are far below them. */
export const documentLimits = {
  characters: 65_536,
  nesting: 100,
  tokens: 5000,
  operations: 50,
  depth: 16,
  rootFields: 20,
  aliases: 50,
  directives: 50,
  cost: 25_000,
} as const;

/** A quantity that is limited. */
export type Limited = keyof typeof documentLimits;

/** The message for a document that is over a limit. */
export function overLimit(name: Limited, found: number): string {
  const shown = Number.isSafeInteger(found) ? found : `more than ${Number.MAX_SAFE_INTEGER}`;
  const word = name === 'rootFields' ? 'root fields' : name;
  return `The document exceeds the limit for ${word}: ${shown}, maximum ${documentLimits[name]}.`;
}

/** A string (whose end may be missing), a comment, or a bracket. */
const NESTING = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n\r])*"?|#[^\n\r]*|[{[(]|[}\])]/g;

/** How deep the brackets of a document are nested, found without parsing it: the parser's stack is limited. */
export function measureNesting(text: string): number {
  let level = 0;
  let deepest = 0;
  for (const [token] of text.matchAll(NESTING)) {
    if ('{[('.includes(token)) level += 1;
    else if ('}])'.includes(token)) level -= 1;
    deepest = Math.max(deepest, level);
  }
  return deepest;
}

/** What a selection asks for with its fragments spread out. */
type Measure = { readonly [Name in (typeof measures)[number]]: number };

const measures = ['depth', 'rootFields', 'aliases', 'directives', 'cost'] as const;

const nothing: Measure = { depth: 0, rootFields: 0, aliases: 0, directives: 0, cost: 0 };

/** A list without page sizes is taken to have this many items. */
const PLAIN_LIST = 4;

/**
 * A validation rule that refuses costly documents before anything runs. A field costs 1, times the sizes of the lists
 * around it; a page size in a variable counts as the maximum. Each fragment is measured once, so that the time is
 * linear.
 */
export function limitDocument(context: ValidationContext): ASTVisitor {
  const schema = context.getSchema();
  const measured = new Map<string, Measure>();

  return {
    Document({ definitions }) {
      const operations = definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION).length;
      if (operations <= documentLimits.operations) return undefined;
      context.reportError(new GraphQLError(overLimit('operations', operations)));
      return BREAK;
    },
    OperationDefinition(operation) {
      const measure = measureInside(operation, schema.getRootType(operation.operation));
      for (const name of measures) {
        if (measure[name] > documentLimits[name]) {
          context.reportError(new GraphQLError(overLimit(name, measure[name]), { nodes: operation }));
        }
      }
    },
  };

  function measureInside(
    { selectionSet, typeCondition, directives = [] }: Parent,
    outer: ParentType,
  ): Measure {
    const type = (typeCondition && schema.getType(typeCondition.name.value)) ?? outer;
    const own = { ...nothing, directives: directives.length };
    return (selectionSet?.selections ?? []).map((selection) => measure(selection, type)).reduce(add, own);
  }

  function measure(selection: SelectionNode, type: ParentType): Measure {
    if (selection.kind === Kind.INLINE_FRAGMENT) return measureInside(selection, type);
    if (selection.kind === Kind.FIELD) return measureField(selection, type);
    return add(measureInside(selection, type), measureFragment(selection.name.value));
  }

  function measureField(node: FieldNode, type: ParentType): Measure {
    const field = findField(type, node.name.value);
    const inside = measureInside(node, getNamedType(field?.type));
    return {
      ...inside,
      depth: inside.depth + 1,
      rootFields: 1,
      aliases: inside.aliases + (node.alias ? 1 : 0),
      cost: 1 + inside.cost * countItems(node, field),
    };
  }

  function measureFragment(name: string): Measure {
    const known = measured.get(name);
    if (known !== undefined) return known;
    // Stands in while the fragment is measured. Another rule reports cycles.
    measured.set(name, nothing);
    const { selectionSet, typeCondition } = context.getFragment(name) ?? {};
    const found = measureInside({ selectionSet, typeCondition }, undefined);
    measured.set(name, found);
    return found;
  }
}

type ParentType = GraphQLNamedType | null | undefined;

/** Whatever selects fields. */
type Parent = {
  readonly selectionSet?: SelectionSetNode | undefined;
  readonly typeCondition?: NamedTypeNode | undefined;
  readonly directives?: readonly unknown[] | undefined;
};

function add(a: Measure, b: Measure): Measure {
  return {
    depth: Math.max(a.depth, b.depth),
    rootFields: a.rootFields + b.rootFields,
    aliases: a.aliases + b.aliases,
    directives: a.directives + b.directives,
    cost: a.cost + b.cost,
  };
}

/** The number of items that a field may return. The records of a connection are counted on the connection. */
function countItems(node: FieldNode, field: GraphQLField<unknown, unknown> | undefined): number {
  if (field?.args.some(({ name }) => name === 'first')) return readPageSize(node);
  if (field?.name === 'nodes' || field?.name === 'edges') return 1;
  return isListType(getNullableType(field?.type)) ? PLAIN_LIST : 1;
}

/** Sizes out of range are refused where they are used; here they must neither outweigh nor offset the rest. */
function readPageSize({ arguments: given = [] }: FieldNode): number {
  const sizes = given
    .filter(({ name }) => name.value === 'first' || name.value === 'last')
    .map(({ value }) => (value.kind === Kind.INT ? Number(value.value) : MAX_PAGE_SIZE))
    .map((size) => Math.min(Math.max(size, 1), MAX_PAGE_SIZE));
  return sizes.length === 0 ? DEFAULT_PAGE_SIZE : Math.max(...sizes);
}
