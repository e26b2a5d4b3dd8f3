import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  Kind,
  type OperationDefinitionNode,
  print,
  separateOperations,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { requireAccess } from '../auth/access.ts';
import type { Path } from '../errors/issue.ts';
import { FREE_COST } from '../quota/running-documents.ts';
import { createMeter } from './document-limits.ts';
import { type Fragment, findField, selectedFields } from './selected-fields.ts';

/** One operation of a valid document. */
export type Operation = Readonly<ReturnType<typeof createOperation>>;

/** Creates an operation of a valid document. */
export function createOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  node: OperationDefinitionNode,
) {
  const fragments = indexFragments(document);
  return {
    document,
    node,
    variables: findVariables(schema, document, node),
    /** The access that the root fields declare, once per response name. Introspection fields are omitted. */
    rootAccess: collectRootAccess(schema, fragments, node),
    ...createCostMeasure(schema, fragments, node),
  };
}

/** Returns the maximum cost of an operation, and the function that returns its cost with given variables. */
function createCostMeasure(schema: GraphQLSchema, fragments: Fragments, node: OperationDefinitionNode) {
  const measure = (variables: Readonly<Record<string, unknown>>) =>
    createMeter(schema, (name) => fragments.get(name), variables)(node).cost;
  const maximum = measure({});
  const numbers = (node.variableDefinitions ?? []).flatMap(({ variable, type, defaultValue }) =>
    print(type).startsWith('Int') ? { name: variable.name.value, preset: defaultValue } : [],
  );
  // Clients repeat the same page sizes.
  let latest = { key: '', cost: maximum };
  const measureCost = (given: Readonly<Record<string, unknown>>): number => {
    if (maximum <= FREE_COST || numbers.length === 0) return maximum;
    const sizes = numbers.map(({ name, preset }) => [
      name,
      given[name] ?? (preset?.kind === Kind.INT ? Number(preset.value) : null),
    ]);
    const key = JSON.stringify(sizes);
    if (latest.key !== key) latest = { key, cost: measure(Object.fromEntries(sizes)) };
    return latest.cost;
  };
  return { cost: maximum, measureCost };
}

/** Whether all root fields of all operations are introspection, which requires no token while GraphiQL is enabled. */
export function isIntrospection(document: DocumentNode): boolean {
  const fragments = indexFragments(document);
  const entered = new Set<Fragment>();
  return document.definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .flatMap(({ selectionSet }) => [...selectedFields(selectionSet, fragments, entered)])
    .every(({ node }) => node.name.value.startsWith('__'));
}

function collectRootAccess(schema: GraphQLSchema, fragments: Fragments, node: OperationDefinitionNode) {
  const rootType = schema.getRootType(node.operation);
  const selected = selectedFields(node.selectionSet, fragments);
  const names = new Map(selected.map(({ node: { alias, name } }) => [(alias ?? name).value, name.value]));
  return [...names.values()].flatMap((name) => {
    const field = findField(rootType, name);
    return field ? requireAccess(name, field.extensions) : [];
  });
}

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

function indexFragments({ definitions }: DocumentNode): Fragments {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((fragment) => [fragment.name.value, fragment]));
}

/** A variable of an operation. */
export type Variable = {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly hasDefault: boolean;
  /** The path of the first argument or input field that uses it. */
  readonly path: Path;
  /**
   * The maximum length that this argument or input field declares for a list. A list in a `JSON` argument has none: only
   * the maximum size of the request limits it.
   */
  readonly maxItems: number | undefined;
};

/** Finds the variables that an operation declares, and where the operation uses them. */
function findVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
  { name: operationName, variableDefinitions = [] }: OperationDefinitionNode,
): Variable[] {
  if (variableDefinitions.length === 0) return [];
  // Another operation of the document may use variables of the same names elsewhere.
  const own = separateOperations(document)[operationName?.value ?? ''];
  const uses = findUses(schema, own ?? document);
  return variableDefinitions.flatMap(({ variable, type: typeNode, defaultValue }) => {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode);
    const use = uses.get(name) ?? { path: [name], maxItems: undefined };
    return isInputType(type) ? [{ name, type, hasDefault: defaultValue !== undefined, ...use }] : [];
  });
}

type Declaration = GraphQLArgument | GraphQLInputField;

/** Finds the first use of each variable, by name. */
function findUses(schema: GraphQLSchema, document: DocumentNode) {
  const uses = new Map<string, Pick<Variable, 'path' | 'maxItems'>>();
  const typeInfo = new TypeInfo(schema);
  visit(
    document,
    visitWithTypeInfo(typeInfo, {
      Argument: ({ name, value }) => visitValue(typeInfo.getArgument(), value, [name.value]),
    }),
  );
  return uses;

  /** Records the variables of a value. `input` is undefined within JSON, which declares no fields. */
  function visitValue(input: Declaration | null | undefined, value: ValueNode, path: Path): void {
    if (value.kind === Kind.VARIABLE && !uses.has(value.name.value)) {
      uses.set(value.name.value, { path, maxItems: input?.extensions.maxItems });
    } else if (value.kind === Kind.LIST) {
      for (const [index, item] of value.values.entries()) visitValue(input, item, [...path, index]);
    } else if (value.kind === Kind.OBJECT) {
      const type = getNamedType(input?.type);
      for (const { name, value: member } of value.fields) {
        const field = isInputObjectType(type) ? type.getFields()[name.value] : undefined;
        visitValue(field, member, [...path, name.value]);
      }
    }
  }
}
