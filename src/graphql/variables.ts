import {
  type DocumentNode,
  type GraphQLInputType,
  type GraphQLSchema,
  getOperationAST,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  Kind,
  typeFromAST,
  type ValueNode,
  visit,
} from 'graphql';
import { type Fault, type Path, REDACTED } from '../errors.ts';
import { holdsSecret } from './holds-secret.ts';

/** Faults of a variable that are looked for; a list of a megabyte may have half a million. */
const MOST_FAULTS = 1000;

/**
 * The faults of variables that do not fit their types, each at the argument it would reach. graphql-js would
 * refuse them too, with the whole value in its message.
 */
export function faultsOfVariables(
  schema: GraphQLSchema,
  document: DocumentNode,
  operationName: string | null | undefined,
  variables: Readonly<Record<string, unknown>>,
): Fault[] {
  const operation = getOperationAST(document, operationName);
  return (operation?.variableDefinitions ?? []).flatMap(({ variable, type: typeNode, defaultValue }) => {
    const name = variable.name.value;
    const type = typeFromAST(schema, typeNode);
    const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
    if (!isInputType(type) || (value === undefined && defaultValue !== undefined)) return [];
    const faults = [...faultsOfInput(type, value, []).take(MOST_FAULTS)];
    if (faults.length === 0) return [];
    const start = argumentPath(document, name);
    const secret = holdsSecret(type);
    return faults.map(({ path, message, value }) => ({
      path: [...start, ...path],
      message,
      value: value === undefined ? null : secret && value !== null ? REDACTED : value,
    }));
  });
}

function* faultsOfInput(type: GraphQLInputType, value: unknown, path: Path): Generator<Fault> {
  if (isNonNullType(type)) {
    if (value === undefined) yield { path, message: 'is required', value };
    else if (value === null) yield { path, message: 'must not be null', value };
    else yield* faultsOfInput(type.ofType, value, path);
  } else if (value === undefined || value === null) {
    return;
  } else if (isListType(type)) {
    // A lone value stands for a list of one (GraphQL, section 3.11).
    if (!Array.isArray(value)) yield* faultsOfInput(type.ofType, value, path);
    else
      for (const [index, item] of value.entries()) yield* faultsOfInput(type.ofType, item, [...path, index]);
  } else if (isInputObjectType(type)) {
    if (!isRecord(value)) {
      yield { path, message: 'must be an object', value };
      return;
    }
    const fields = type.getFields();
    for (const [name, field] of Object.entries(fields)) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given !== undefined || field.defaultValue === undefined) {
        yield* faultsOfInput(field.type, given, [...path, name]);
      }
    }
    for (const name of Object.keys(value).filter((name) => !Object.hasOwn(fields, name))) {
      yield { path: [...path, name], message: 'is not a known field', value: value[name] };
    }
    const given = Object.values(value);
    if (type.isOneOf && (given.length !== 1 || given[0] === null)) {
      yield { path, message: 'must have exactly one field, and that not null', value };
    }
  } else {
    try {
      type.parseValue(value);
    } catch {
      yield { path, message: leafRule(type), value };
    }
  }
}

function leafRule(type: Exclude<GraphQLInputType, { ofType: unknown }>): string {
  if (isEnumType(type))
    return `must be one of ${type
      .getValues()
      .map(({ name }) => name)
      .join(', ')}`;
  switch (type.name) {
    case 'Int':
      return 'must be a whole number of at most 32 bits';
    case 'Boolean':
      return 'must be a boolean';
    case 'DateTime':
      return 'must be an RFC 3339 time, for example 2026-01-31T09:30:00.000Z';
    default:
      return 'must be a string';
  }
}

/** Where a variable goes: the path of the argument that takes it. */
function argumentPath(document: DocumentNode, variable: string): Path {
  let found: Path | undefined;
  visit(document, {
    Argument({ name, value }) {
      found ??= pathTo(value, [name.value]);
    },
  });
  return found ?? [variable];

  function pathTo(value: ValueNode, path: Path): Path | undefined {
    switch (value.kind) {
      case Kind.VARIABLE:
        return value.name.value === variable ? path : undefined;
      case Kind.OBJECT:
        return first(value.fields, (field) => pathTo(field.value, [...path, field.name.value]));
      case Kind.LIST:
        return first(value.values, (item, index) => pathTo(item, [...path, index]));
      default:
        return undefined;
    }
  }
}

function first<Item, Result>(
  items: readonly Item[],
  find: (item: Item, index: number) => Result | undefined,
) {
  for (const [index, item] of items.entries()) {
    const result = find(item, index);
    if (result !== undefined) return result;
  }
  return undefined;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
