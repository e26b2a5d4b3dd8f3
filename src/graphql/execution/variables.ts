import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isInputObjectType,
  isInputType,
  Kind,
  type OperationDefinitionNode,
  separateOperations,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import type { Path } from '../../errors/issue.ts';

/** A variable of an operation. */
export type Variable = {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly hasDefault: boolean;
  /** The path of the first argument or input field that uses it. */
  readonly path: Path;
  /** The maximum length that this argument or input field declares for a list. */
  readonly maxItems: number;
};

/** The variable values of a request, by name. */
export type VariableValues = Readonly<Record<string, unknown>>;

/**
 * Used for a list without a declared maximum length, such as a list in a `JSON` argument. Only the maximum size of the
 * request limits it.
 */
export const UNLIMITED = Number.POSITIVE_INFINITY;

/** Finds the variables that an operation declares, and where the operation uses them. */
export function findVariables(
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
    const use = uses.get(name) ?? { path: [name], maxItems: UNLIMITED };
    return isInputType(type) ? [{ name, type, hasDefault: defaultValue !== undefined, ...use }] : [];
  });
}

/** Finds the first use of each variable, by name. */
function findUses(schema: GraphQLSchema, document: DocumentNode) {
  const uses = new Map<string, Pick<Variable, 'path' | 'maxItems'>>();
  const typeInfo = new TypeInfo(schema);
  const visitor: ASTVisitor = {
    Argument: ({ name, value }) => visitValue(typeInfo.getArgument(), value, [name.value]),
  };
  visit(document, visitWithTypeInfo(typeInfo, visitor));
  return uses;

  /** Records the variables of a value. `input` is undefined within JSON, which declares no fields. */
  function visitValue(
    input: GraphQLArgument | GraphQLInputField | null | undefined,
    value: ValueNode,
    path: Path,
  ): void {
    if (value.kind === Kind.VARIABLE && !uses.has(value.name.value)) {
      uses.set(value.name.value, { path, maxItems: input?.extensions.maxItems ?? UNLIMITED });
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
