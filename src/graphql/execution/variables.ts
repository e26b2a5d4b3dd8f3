import {
  type ASTVisitor,
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  type OperationDefinitionNode,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type Path, REDACTED, type ValidationIssue } from '../../errors/gateway-errors.ts';
import { describeTooManyItems, isRecord } from '../../errors/validation-issues.ts';
import { TIME_RULE } from '../../values/time.ts';
import { inspectInput } from '../secret-inputs.ts';

/** A variable of an operation. */
export type Variable = {
  readonly name: string;
  readonly type: GraphQLInputType;
  readonly hasDefault: boolean;
  /** The path of the first argument or input field that takes it. */
  readonly path: Path;
  /** The maximum length that this argument or input field declares for a list. */
  readonly maxItems: number;
};

/** The values that a request gives for variables. */
export type VariableValues = Readonly<Record<string, unknown>>;

/** The variables that an operation declares, with the places where they are used. */
export function findVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
  { variableDefinitions = [] }: OperationDefinitionNode,
): Variable[] {
  if (variableDefinitions.length === 0) return [];
  const places = findPlaces(schema, document);
  return variableDefinitions.flatMap(({ variable, type: typeNode, defaultValue }) => {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode);
    const place = places.get(name) ?? { path: [name], maxItems: UNLIMITED };
    return isInputType(type) ? [{ name, type, hasDefault: defaultValue !== undefined, ...place }] : [];
  });
}

/** The first place where each variable is used, by its name. */
function findPlaces(schema: GraphQLSchema, document: DocumentNode) {
  const places = new Map<string, Pick<Variable, 'path' | 'maxItems'>>();
  const typeInfo = new TypeInfo(schema);
  const visitor: ASTVisitor = {
    Argument: ({ name, value }) => note(typeInfo.getArgument(), value, [name.value]),
  };
  visit(document, visitWithTypeInfo(typeInfo, visitor));
  return places;

  /** Inside JSON there is no declared input. */
  function note(
    input: GraphQLArgument | GraphQLInputField | null | undefined,
    value: ValueNode,
    path: Path,
  ): void {
    if (value.kind === Kind.VARIABLE && !places.has(value.name.value)) {
      places.set(value.name.value, { path, maxItems: input?.extensions.maxItems ?? UNLIMITED });
    } else if (value.kind === Kind.LIST) {
      for (const [index, item] of value.values.entries()) note(input, item, [...path, index]);
    } else if (value.kind === Kind.OBJECT) {
      const type = getNamedType(input?.type);
      for (const { name, value: member } of value.fields) {
        const field = isInputObjectType(type) ? type.getFields()[name.value] : undefined;
        note(field, member, [...path, name.value]);
      }
    }
  }
}

/** Every list that the schema takes declares a limit; a list inside JSON is limited by the size of the request. */
const UNLIMITED = Number.POSITIVE_INFINITY;

/**
 * What is wrong with the variables of a request, at the arguments that take them. Lazy: no more is looked at than is
 * asked for. graphql-js would refuse them too, after reading all of them, with whole values in its messages.
 */
export function* variableIssues(
  variables: readonly Variable[],
  given: VariableValues,
): Generator<ValidationIssue> {
  for (const { name, type, hasDefault, path: start, maxItems } of variables) {
    const sent = Object.hasOwn(given, name) ? given[name] : undefined;
    if (sent === undefined && hasDefault) continue;
    for (const { path, message, value } of faultsOfInput(type, sent, [], maxItems)) {
      const { isSecret, declaredSteps } = inspectInput(type, path);
      yield {
        path: [...start, ...path],
        message,
        value: isSecret && value != null ? REDACTED : (value ?? null),
        callerSteps: path.length - declaredSteps,
      };
    }
  }
}

function* faultsOfInput(
  type: GraphQLInputType,
  value: unknown,
  path: Path,
  maxItems: number,
): Generator<ValidationIssue> {
  if (isNonNullType(type)) {
    if (value === undefined) yield { path, message: 'is required', value };
    else if (value === null) yield { path, message: 'must not be null', value };
    else yield* faultsOfInput(type.ofType, value, path, maxItems);
  } else if (value === undefined || value === null) {
    return;
  } else if (isListType(type)) {
    // A lone value stands for a list of one (GraphQL, section 3.11).
    if (!Array.isArray(value)) yield* faultsOfInput(type.ofType, value, path, maxItems);
    else if (value.length > maxItems) yield { path, message: describeTooManyItems(maxItems), value };
    else
      for (const [index, item] of value.entries())
        yield* faultsOfInput(type.ofType, item, [...path, index], maxItems);
  } else if (isInputObjectType(type)) {
    yield* faultsOfFields(type.getFields(), type.isOneOf, value, path);
  } else {
    try {
      type.parseValue(value);
    } catch {
      yield { path, message: leafRule(type), value };
    }
  }
}

function* faultsOfFields(
  fields: Readonly<Record<string, GraphQLInputField>>,
  isOneOf: boolean,
  value: unknown,
  path: Path,
): Generator<ValidationIssue> {
  if (!isRecord(value)) {
    yield { path, message: 'must be an object', value };
    return;
  }
  for (const [name, { type, defaultValue, extensions }] of Object.entries(fields)) {
    const given = Object.hasOwn(value, name) ? value[name] : undefined;
    if (given === undefined && defaultValue !== undefined) continue;
    yield* faultsOfInput(type, given, [...path, name], extensions.maxItems ?? UNLIMITED);
  }
  for (const name of Object.keys(value)) {
    if (!Object.hasOwn(fields, name)) {
      yield { path: [...path, name], message: 'is not a known field', value: value[name] };
    }
  }
  const given = Object.values(value);
  if (isOneOf && (given.length !== 1 || given[0] === null)) {
    yield { path, message: 'must have exactly one field, which must not be null', value };
  }
}

function leafRule(type: Exclude<GraphQLInputType, { ofType: unknown }>): string {
  if (!isEnumType(type)) return LEAF_RULES[type.name] ?? 'must be a string';
  const words = type.getValues().map(({ name }) => name);
  return `must be one of ${words.join(', ')}`;
}

const LEAF_RULES: Readonly<Record<string, string>> = {
  Int: 'must be a 32-bit whole number',
  Boolean: 'must be a boolean',
  DateTime: TIME_RULE,
};
