import {
  type GraphQLInputObjectType,
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
 * Finds up to `max` issues of a request's variables, with the paths of the arguments that use them. graphql-js would
 * read all values and repeat them in its messages.
 */
export function findVariableIssues(
  variables: readonly Variable[],
  given: VariableValues,
  max: number,
): ValidationIssue[] {
  return variables
    .flatMap(({ name, type, hasDefault, path: start, maxItems }) => {
      const sent = Object.hasOwn(given, name) ? given[name] : undefined;
      if (sent === undefined && hasDefault) return [];
      const input = new InputCheck(max);
      input.check(type, sent, maxItems);
      return input.issues.map(({ path, message, value }) => {
        const { isSecret, knownKeyCount } = inspectInput(type, path);
        return {
          path: [...start, ...path],
          message,
          value: isSecret && value != null ? REDACTED : (value ?? null),
          unknownKeyCount: path.length - knownKeyCount,
        };
      });
    })
    .slice(0, max);
}

type InputIssue = { path: Path; message: string; value: unknown };

/** Finds up to `max` issues of a value. The path to the checked value is one array, which is copied for issues only. */
class InputCheck {
  readonly issues: InputIssue[] = [];
  readonly #path: (string | number)[] = [];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  check(type: GraphQLInputType, value: unknown, maxItems: number): void {
    if (isNonNullType(type)) {
      if (value === undefined) this.#report('is required', value);
      else if (value === null) this.#report('must not be null', value);
      else this.check(type.ofType, value, maxItems);
    } else if (value === undefined || value === null) {
      return;
    } else if (isListType(type)) {
      this.#checkList(type.ofType, value, maxItems);
    } else if (isInputObjectType(type)) {
      this.#checkObject(type, value);
    } else {
      try {
        type.parseValue(value);
      } catch {
        this.#report(describeLeafRule(type), value);
      }
    }
  }

  #checkList(type: GraphQLInputType, value: unknown, maxItems: number): void {
    // A single value is coerced to a list (GraphQL, section 3.11).
    if (!Array.isArray(value)) this.check(type, value, maxItems);
    else if (value.length > maxItems) this.#report(describeTooManyItems(maxItems), value);
    else
      for (let index = 0; index < value.length && this.issues.length < this.#max; index += 1)
        this.#checkAt(index, type, value[index], maxItems);
  }

  #checkObject(type: GraphQLInputObjectType, value: unknown): void {
    if (!isRecord(value)) {
      this.#report('must be an object', value);
      return;
    }
    const fields = type.getFields();
    for (const { name, type, defaultValue, extensions } of Object.values(fields)) {
      const given = Object.hasOwn(value, name) ? value[name] : undefined;
      if (given === undefined && defaultValue !== undefined) continue;
      this.#checkAt(name, type, given, extensions.maxItems ?? UNLIMITED);
    }
    const names = Object.keys(value);
    for (const name of names) {
      if (!Object.hasOwn(fields, name)) this.#report('is not a known field', value[name], name);
    }
    const [first = ''] = names;
    if (type.isOneOf && (names.length !== 1 || value[first] === null)) {
      this.#report('must have exactly one field, which must not be null', value);
    }
  }

  #checkAt(step: string | number, type: GraphQLInputType, value: unknown, maxItems: number): void {
    this.#path.push(step);
    this.check(type, value, maxItems);
    this.#path.pop();
  }

  #report(message: string, value: unknown, ...below: string[]): void {
    if (this.issues.length < this.#max) this.issues.push({ path: [...this.#path, ...below], message, value });
  }
}

function describeLeafRule(type: Exclude<GraphQLInputType, { ofType: unknown }>): string {
  if (!isEnumType(type)) return LEAF_RULES[type.name] ?? 'must be a string';
  const names = type.getValues().map(({ name }) => name);
  return `must be one of ${names.join(', ')}`;
}

const LEAF_RULES: Readonly<Record<string, string>> = {
  Int: 'must be a 32-bit whole number',
  Float: 'must be a number',
  Boolean: 'must be a boolean',
  DateTime: TIME_MESSAGE,
};
