import {
  __Schema,
  __Type,
  type ASTVisitor,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  introspectionFromSchema,
  isIntrospectionType,
  isListType,
  isObjectType,
  Kind,
  type NamedTypeNode,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  type SelectionNode,
  type SelectionSetNode,
  TypeMetaFieldDef,
  type ValidationContext,
  type ValueNode,
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
  fragments: { max: 50, term: 'fragments' },
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

/** The quantities of an operation. */
type Quantities = Readonly<Record<(typeof quantities)[number] | 'introspection' | 'otherFields', number>>;

/**
 * The quantities of a selection set, including its fragments. The cost is that of the fields of each object type, and
 * under `''` of those of all types: a record has one type, so only the costliest fragments on object types count.
 */
type Cost = Omit<Quantities, 'cost'> & { readonly costs: Readonly<Record<string, number>> };

const zero: Cost = {
  depth: 0,
  rootFields: 0,
  introspection: 0,
  otherFields: 0,
  aliases: 0,
  directives: 0,
  costs: {},
};

function sumCosts({ '': ofAll = 0, ...ofTypes }: Cost['costs']): number {
  return ofAll + Math.max(0, ...Object.values(ofTypes));
}

/** The assumed length of a list that declares none. */
const ASSUMED_LIST_LENGTH = 4;

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** What a field costs that may return more than 1,000 characters: 1 for each of these. */
    weight?: number;
    /** The maximum length of a list without page sizes. */
    listLength?: number;
  }
}

/** The weight of a payload: a page of 100 costs a quarter of what a document may cost. */
export const contentWeight = { weight: documentLimits.cost.max / 4 / MAX_PAGE_SIZE };

/** The weight of an answer. A request may have two, and then both cost as much as its payload. */
export const answerWeight = { weight: contentWeight.weight / 2 };

/** The weight of a text. */
export function textWeight(maxCharacters: number) {
  return { weight: maxCharacters / 1000 };
}

/** The root fields of introspection. Types do not list them. */
const introspectionFields = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]),
);

const INTROSPECTION_RULE =
  'A document may contain `__schema` and `__type` once each, without an alias and not beside other root fields.';

/** A validation rule that rejects costly documents. */
export function limitCost(context: ValidationContext): ASTVisitor {
  const measureOperation = createMeter(context.getSchema(), (name) => context.getFragment(name));
  const found = new Set<string>();
  const report = (message: string, nodes: FieldNode | OperationDefinitionNode) =>
    context.reportError(new GraphQLError(message, { nodes }));
  return {
    OperationDefinition(operation) {
      const cost = measureOperation(operation);
      for (const name of quantities) {
        if (cost[name] > documentLimits[name].max) report(limitMessage(name, cost[name]), operation);
      }
      if (cost.introspection > 0 && cost.otherFields > 0) report(INTROSPECTION_RULE, operation);
    },
    Field(field) {
      const name = field.name.value;
      if (!introspectionFields.has(name)) return;
      if (field.alias !== undefined || found.has(name)) report(INTROSPECTION_RULE, field);
      found.add(name);
    },
  };
}

/** Finds a fragment of a document by name. */
type FindFragment = (name: string) => FragmentDefinitionNode | null | undefined;

/**
 * Creates a function that measures operations of a document. A field costs 1, multiplied by the sizes of the lists that
 * contain it. One with a weight costs that, or what is selected inside it if that is more. A page size in a variable that
 * is not given counts as the maximum. Each fragment is measured once, so that this takes linear time.
 *
 * A list of introspection counts as the longest one of the schema, but directly below all types as the average one, so
 * that the sum is exact. `__type` counts as all types. `ofAll` says whether a selection set is directly below all types.
 */
export function createMeter(
  schema: GraphQLSchema,
  findFragment: FindFragment,
  variables: Readonly<Record<string, unknown>> = {},
): (operation: OperationDefinitionNode) => Quantities {
  const fragments = new Map<string, Cost>();
  return (operation) => {
    const { costs, ...others } = measureInside(operation, schema.getRootType(operation.operation), false);
    return { ...others, cost: Math.ceil(sumCosts(costs)) };
  };

  function measureInside(parent: Parent, outer: ParentType, ofAll: boolean): Cost {
    const { selectionSet, typeCondition, directives = [] } = parent;
    const type = (typeCondition && schema.getType(typeCondition.name.value)) ?? outer;
    const own = { ...zero, directives: directives.length };
    return (selectionSet?.selections ?? [])
      .map((selection) => measure(selection, type, ofAll))
      .reduce(add, own);
  }

  function measure(selection: SelectionNode, type: ParentType, ofAll: boolean): Cost {
    if (selection.kind === Kind.INLINE_FRAGMENT) return measureInside(selection, type, ofAll);
    if (selection.kind === Kind.FIELD) return measureField(selection, type, ofAll);
    return add(measureInside(selection, type, ofAll), measureFragment(selection.name.value, ofAll));
  }

  function measureField(node: FieldNode, type: ParentType, ofAll: boolean): Cost {
    const name = node.name.value;
    const field = introspectionFields.get(name) ?? findField(type, name);
    const isAll = field === TypeMetaFieldDef || (type === __Schema && name === 'types');
    const inner = getNamedType(field?.type);
    const inside = measureInside(node, inner, isAll || (ofAll && inner !== __Type));
    const { weight = 0 } = field?.extensions ?? {};
    // Each alias inside may repeat the whole content.
    const content = weight * (1 + inside.aliases);
    const items = sumCosts(inside.costs) * countItems(node, type, field, ofAll);
    return {
      ...inside,
      depth: inside.depth + 1,
      // The field itself, without its subfields, so that the sum for an operation is the number of its root fields.
      rootFields: 1,
      introspection: introspectionFields.has(name) ? 1 : 0,
      otherFields: name.startsWith('__') ? 0 : 1,
      aliases: inside.aliases + (node.alias ? 1 : 0),
      costs: { [isObjectType(type) ? type.name : '']: 1 + Math.max(content, Math.ceil(items)) },
    };
  }

  function measureFragment(name: string, ofAll: boolean): Cost {
    const key = `${name} ${ofAll}`;
    const known = fragments.get(key);
    if (known !== undefined) return known;
    // Ends the recursion of a cycle, which another rule reports.
    fragments.set(key, zero);
    const { selectionSet, typeCondition } = findFragment(name) ?? {};
    const found = measureInside({ selectionSet, typeCondition }, undefined, ofAll);
    fragments.set(key, found);
    return found;
  }

  /** Returns the number of items that a field may return. For `nodes` and `edges`, the connection has counted them. */
  function countItems(node: FieldNode, type: ParentType, field: Field | undefined, ofAll: boolean): number {
    if (field === TypeMetaFieldDef) return findLengths(schema).get('types')?.max ?? 1;
    if (field?.args.some(({ name }) => name === 'first')) return readPageSize(node);
    if (field?.name === 'nodes' || field?.name === 'edges') return 1;
    if (!isListType(getNullableType(field?.type))) return 1;
    const lengths = type && isIntrospectionType(type) ? findLengths(schema).get(node.name.value) : undefined;
    return (ofAll ? lengths?.mean : lengths?.max) ?? field?.extensions.listLength ?? ASSUMED_LIST_LENGTH;
  }

  /** Reads the page size of a connection, clamped to the valid range, which its argument rule checks later. */
  function readPageSize({ arguments: args = [] }: FieldNode): number {
    const sizes = args
      .filter(({ name }) => name.value === 'first' || name.value === 'last')
      .map(({ value }) => (value.kind === Kind.INT ? Number(value.value) : findVariable(value)))
      .map((size) => Math.min(Math.max(size, 1), MAX_PAGE_SIZE));
    return sizes.length === 0 ? DEFAULT_PAGE_SIZE : Math.max(...sizes);
  }

  function findVariable(value: ValueNode): number {
    const given = value.kind === Kind.VARIABLE ? variables[value.name.value] : undefined;
    return typeof given === 'number' ? given : MAX_PAGE_SIZE;
  }
}

type ParentType = GraphQLNamedType | null | undefined;
type Field = GraphQLField<unknown, unknown>;

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
    introspection: a.introspection + b.introspection,
    otherFields: a.otherFields + b.otherFields,
    aliases: a.aliases + b.aliases,
    directives: a.directives + b.directives,
    costs: mergeCosts(a.costs, b.costs),
  };
}

function mergeCosts(a: Cost['costs'], b: Cost['costs']): Cost['costs'] {
  const merged = { ...a };
  for (const [type, cost] of Object.entries(b)) merged[type] = (merged[type] ?? 0) + cost;
  return merged;
}

/** The lengths of one list of introspection, over everything in the schema that has it. */
type Lengths = { readonly max: number; readonly mean: number };

const lengthsBySchema = new WeakMap<GraphQLSchema, ReadonlyMap<string, Lengths>>();

/** Finds the lengths of the lists of introspection by field name. */
function findLengths(schema: GraphQLSchema): ReadonlyMap<string, Lengths> {
  const lengths = lengthsBySchema.get(schema) ?? measureLists(introspectionFromSchema(schema));
  lengthsBySchema.set(schema, lengths);
  return lengths;
}

function measureLists(introspection: unknown): ReadonlyMap<string, Lengths> {
  const found = new Map<string, number[]>();
  collect(introspection);
  return new Map(
    [...found].map(([name, lengths]) => {
      const sum = lengths.reduce((total, length) => total + length, 0);
      return [name, { max: Math.max(...lengths), mean: sum / lengths.length }];
    }),
  );

  /** Collects the lengths of lists by name. An object without a list has `null`, which counts as an empty one. */
  function collect(value: unknown, name?: string): void {
    if (name !== undefined && (Array.isArray(value) || value === null)) {
      const lengths = found.get(name) ?? [];
      lengths.push(value?.length ?? 0);
      found.set(name, lengths);
    }
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) collect(inner, Array.isArray(value) ? undefined : key);
  }
}
