import {
  type ASTVisitor,
  type FieldNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isListType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
  type ValidationContext,
} from 'graphql';
import { BadRequestError } from '../errors/gateway-errors.ts';
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from './page-arguments.ts';
import { findField } from './selected-fields.ts';

/**
 * The limits of a document, and their terms in messages and in docs/graphql-api.md. The introspection of GraphiQL and a
 * query for one screen of an app stay below them.
 */
export const documentLimits = {
  characters: { max: 65_536, term: 'characters' },
  nesting: { max: 100, term: 'nested brackets' },
  tokens: { max: 5000, term: 'tokens' },
  operations: { max: 50, term: 'operations' },
  depth: { max: 16, term: 'levels of fields' },
  rootFields: { max: 20, term: 'root fields in an operation' },
  aliases: { max: 50, term: 'aliases' },
  directives: { max: 50, term: 'directives' },
  cost: { max: 25_000, term: 'cost' },
} as const;

/** A quantity that is limited. */
type LimitName = keyof typeof documentLimits;

/** Returns the message for a document that exceeds a limit. */
function limitMessage(name: LimitName, found: number): string {
  const shown = Number.isSafeInteger(found) ? found : `more than ${Number.MAX_SAFE_INTEGER}`;
  const { max, term } = documentLimits[name];
  return `The document exceeds the limit for ${term}: ${shown}, maximum ${max}.`;
}

/** @throws {BadRequestError} if a document exceeds a limit */
export function requireWithinLimit(name: LimitName, found: number): void {
  if (found > documentLimits[name].max) throw new BadRequestError(limitMessage(name, found));
}

/** A string (whose end may be missing), a comment, or a bracket. */
const NESTING_TOKEN = /"""(?:\\"""|[\s\S])*?(?:"""|$)|"(?:\\.|[^"\\\n\r])*"?|#[^\n\r]*|[{[(]|[}\])]/g;

/** Returns how deep the brackets of a document are nested, without the parser, whose stack could overflow. */
export function measureNesting(text: string): number {
  let depth = 0;
  let maxDepth = 0;
  for (const [token] of text.matchAll(NESTING_TOKEN)) {
    if ('{[('.includes(token)) depth += 1;
    else if ('}])'.includes(token)) depth -= 1;
    maxDepth = Math.max(maxDepth, depth);
  }
  return maxDepth;
}

const quantities = ['depth', 'rootFields', 'aliases', 'directives', 'cost'] as const;

/** The limited quantities of a selection set, including its fragments. */
type Cost = Readonly<Record<(typeof quantities)[number], number>>;

const zero: Cost = { depth: 0, rootFields: 0, aliases: 0, directives: 0, cost: 0 };

/** The assumed length of a list without page sizes. */
const ASSUMED_LIST_LENGTH = 4;

/** A validation rule that rejects costly documents. */
export function limitCost(context: ValidationContext): ASTVisitor {
  const measureOperation = createMeter(context);
  return {
    OperationDefinition(operation) {
      const cost = measureOperation(operation);
      for (const name of quantities) {
        if (cost[name] <= documentLimits[name].max) continue;
        context.reportError(new GraphQLError(limitMessage(name, cost[name]), { nodes: operation }));
      }
    },
  };
}

/**
 * Creates a function that measures operations of a document. A field costs 1, multiplied by the sizes of the lists that
 * contain it. A page size in a variable counts as the maximum. Each fragment is measured once, so that this takes
 * linear time.
 */
function createMeter(context: ValidationContext): (operation: OperationDefinitionNode) => Cost {
  const schema = context.getSchema();
  const fragments = new Map<string, Cost>();
  return (operation) => measureInside(operation, schema.getRootType(operation.operation));

  function measureInside({ selectionSet, typeCondition, directives = [] }: Parent, outer: ParentType): Cost {
    const type = (typeCondition && schema.getType(typeCondition.name.value)) ?? outer;
    const own = { ...zero, directives: directives.length };
    return (selectionSet?.selections ?? []).map((selection) => measure(selection, type)).reduce(add, own);
  }

  function measure(selection: SelectionNode, type: ParentType): Cost {
    if (selection.kind === Kind.INLINE_FRAGMENT) return measureInside(selection, type);
    if (selection.kind === Kind.FIELD) return measureField(selection, type);
    return add(measureInside(selection, type), measureFragment(selection.name.value));
  }

  function measureField(node: FieldNode, type: ParentType): Cost {
    const field = findField(type, node.name.value);
    const inside = measureInside(node, getNamedType(field?.type));
    return {
      ...inside,
      depth: inside.depth + 1,
      // The field itself, without its subfields, so that the sum for an operation is the number of its root fields.
      rootFields: 1,
      aliases: inside.aliases + (node.alias ? 1 : 0),
      cost: 1 + inside.cost * countItems(node, field),
    };
  }

  function measureFragment(name: string): Cost {
    const known = fragments.get(name);
    if (known !== undefined) return known;
    // Ends the recursion of a cycle, which another rule reports.
    fragments.set(name, zero);
    const { selectionSet, typeCondition } = context.getFragment(name) ?? {};
    const found = measureInside({ selectionSet, typeCondition }, undefined);
    fragments.set(name, found);
    return found;
  }
}

type ParentType = GraphQLNamedType | null | undefined;

/** A node with a selection set, or a spread, which has directives only. */
type Parent = {
  readonly selectionSet?: SelectionSetNode | undefined;
  readonly typeCondition?: NamedTypeNode | undefined;
  readonly directives?: readonly unknown[] | undefined;
};

function add(a: Cost, b: Cost): Cost {
  return {
    depth: Math.max(a.depth, b.depth),
    rootFields: a.rootFields + b.rootFields,
    aliases: a.aliases + b.aliases,
    directives: a.directives + b.directives,
    cost: a.cost + b.cost,
  };
}

/** Returns the number of items that a field may return. For `nodes` and `edges`, the connection has counted them. */
function countItems(node: FieldNode, field: GraphQLField<unknown, unknown> | undefined): number {
  if (field?.args.some(({ name }) => name === 'first')) return readPageSize(node);
  if (field?.name === 'nodes' || field?.name === 'edges') return 1;
  return isListType(getNullableType(field?.type)) ? ASSUMED_LIST_LENGTH : 1;
}

/** Reads the page size of a connection, clamped to the valid range, which its argument rule checks later. */
function readPageSize({ arguments: args = [] }: FieldNode): number {
  const sizes = args
    .filter(({ name }) => name.value === 'first' || name.value === 'last')
    .map(({ value }) => (value.kind === Kind.INT ? Number(value.value) : MAX_PAGE_SIZE))
    .map((size) => Math.min(Math.max(size, 1), MAX_PAGE_SIZE));
  return sizes.length === 0 ? DEFAULT_PAGE_SIZE : Math.max(...sizes);
}
