import {
  type GraphQLInputField,
  type GraphQLInputType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
} from 'graphql';
import { REDACTED } from '../../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../../errors/issue.ts';
import { isRecord } from '../../errors/json-path.ts';
import { describeTooManyItems } from '../../errors/validation-issues.ts';
import { TIME_MESSAGE } from '../../values/time.ts';
import { inspectInput } from '../secret-inputs.ts';
import { UNLIMITED, type Variable, type VariableValues } from './variables.ts';

/**
 * Yields the issues of a request's variables, with the paths of the arguments that use them. It is lazy, so that the
 * caller can stop early. graphql-js would read all values and repeat them in its messages.
 */
export function* findVariableIssues(
  variables: readonly Variable[],
  given: VariableValues,
): Generator<ValidationIssue> {
  for (const { name, type, hasDefault, path: start, maxItems } of variables) {
    const sent = Object.hasOwn(given, name) ? given[name] : undefined;
    if (sent === undefined && hasDefault) continue;
    for (const { path, message, value } of findInputIssues(type, sent, [], maxItems)) {
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

function* findInputIssues(
  type: GraphQLInputType,
  value: unknown,
  path: Path,
  maxItems: number,
): Generator<ValidationIssue> {
  if (isNonNullType(type)) {
    if (value === undefined) yield { path, message: 'is required', value };
    else if (value === null) yield { path, message: 'must not be null', value };
    else yield* findInputIssues(type.ofType, value, path, maxItems);
  } else if (value === undefined || value === null) {
    return;
  } else if (isListType(type)) {
    // A single value is coerced to a list (GraphQL, section 3.11).
    if (!Array.isArray(value)) yield* findInputIssues(type.ofType, value, path, maxItems);
    else if (value.length > maxItems) yield { path, message: describeTooManyItems(maxItems), value };
    else
      for (const [index, item] of value.entries())
        yield* findInputIssues(type.ofType, item, [...path, index], maxItems);
  } else if (isInputObjectType(type)) {
    yield* findFieldIssues(type.getFields(), type.isOneOf, value, path);
  } else {
    try {
      type.parseValue(value);
    } catch {
      yield { path, message: describeLeafRule(type), value };
    }
  }
}

function* findFieldIssues(
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
    yield* findInputIssues(type, given, [...path, name], extensions.maxItems ?? UNLIMITED);
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

function describeLeafRule(type: Exclude<GraphQLInputType, { ofType: unknown }>): string {
  if (!isEnumType(type)) return LEAF_RULES[type.name] ?? 'must be a string';
  const names = type.getValues().map(({ name }) => name);
  return `must be one of ${names.join(', ')}`;
}

const LEAF_RULES: Readonly<Record<string, string>> = {
  Int: 'must be a 32-bit whole number',
  Boolean: 'must be a boolean',
  DateTime: TIME_MESSAGE,
};
