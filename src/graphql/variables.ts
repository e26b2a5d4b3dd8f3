import {
  type DocumentNode,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputObjectType,
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
  separateOperations,
  TypeInfo,
  typeFromAST,
  type ValueNode,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { closestMatch } from 'leven';
import { REDACTED } from '../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../errors/issue.ts';
import { describeTooManyItems } from '../errors/validation-issues.ts';
import { TIME_MESSAGE } from '../values/time.ts';
import { inspectInput } from './secret-inputs.ts';

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

/**
 * Finds up to `max` issues of a request's variables, with the paths of the arguments that use them. graphql-js would
 * read all values and repeat them in its messages.
 */
export function findVariableIssues(
  variables: readonly Variable[],
  given: Readonly<Record<string, unknown>>,
  max: number,
): ValidationIssue[] {
  return variables
    .flatMap(({ name, type, hasDefault, path: start, maxItems }) => {
      const sent = Object.hasOwn(given, name) ? given[name] : undefined;
      if (sent === undefined && hasDefault) return [];
      const input = new InputCheck(max);
      input.check(type, sent, maxItems);
      return input.issues.map(({ path, message, value, isMisspelled }) => {
        const { isSecret, knownKeyCount } = inspectInput(type, path);
        return {
          path: [...start, ...path],
          message,
          value: isSecret && value != null ? REDACTED : (value ?? null),
          unknownKeyCount: isMisspelled ? 0 : path.length - knownKeyCount,
        };
      });
    })
    .slice(0, max);
}

/** An issue of a value. A field that only `isMisspelled` is no misplaced value, so its name may be in messages. */
type InputIssue = { path: Path; message: string; value: unknown; isMisspelled?: boolean };

/** Finds up to `max` issues of a value. The path to the checked value is one array, which is copied for issues only. */
class InputCheck {
  readonly issues: InputIssue[] = [];
  readonly #path: (string | number)[] = [];
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  check(type: GraphQLInputType, value: unknown, maxItems?: number): void {
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

  #checkList(type: GraphQLInputType, value: unknown, maxItems?: number): void {
    // A single value is coerced to a list (GraphQL, section 3.11).
    if (!Array.isArray(value)) this.check(type, value, maxItems);
    else if (maxItems !== undefined && value.length > maxItems)
      this.#report(describeTooManyItems(maxItems), value);
    else
      for (let index = 0; index < value.length && this.issues.length < this.#max; index += 1)
        this.#checkAt(index, type, value[index], maxItems);
  }

  #checkObject(type: GraphQLInputObjectType, value: unknown): void {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.#report('must be an object', value);
      return;
    }
    const fields = type.getFields();
    for (const { name, type, defaultValue, extensions } of Object.values(fields)) {
      const given: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
      if (given === undefined && defaultValue !== undefined) continue;
      this.#checkAt(name, type, given, extensions.maxItems);
    }
    const names = Object.keys(value);
    for (const name of names) {
      if (Object.hasOwn(fields, name) || this.issues.length === this.#max) continue;
      const nearest = findNearest(name, Object.keys(fields));
      const message = `is not a known field${nearest === undefined ? '' : `; the nearest is ${nearest}`}`;
      const path = [...this.#path, name];
      const isMisspelled = nearest !== undefined;
      this.issues.push({ path, message, value: Reflect.get(value, name), isMisspelled });
    }
    const [first = ''] = names;
    if (type.isOneOf && (names.length !== 1 || Reflect.get(value, first) === null)) {
      this.#report('must have exactly one field, which must not be null', value);
    }
  }

  #checkAt(step: string | number, type: GraphQLInputType, value: unknown, maxItems?: number): void {
    this.#path.push(step);
    this.check(type, value, maxItems);
    this.#path.pop();
  }

  #report(message: string, value: unknown): void {
    if (this.issues.length < this.#max) this.issues.push({ path: [...this.#path], message, value });
  }
}

/** Finds the field that was meant, with the limit of the suggestions of graphql-js. Longer names are no misspelled ones. */
function findNearest(name: string, known: readonly string[]): string | undefined {
  const maxDistance = Math.floor(0.4 * name.length) + 1;
  return name.length > MAX_NAME ? undefined : closestMatch(name, known, { maxDistance });
}

const MAX_NAME = 64;

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
