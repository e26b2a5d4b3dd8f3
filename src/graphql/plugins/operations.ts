import {
  type DocumentNode,
  type ExecutionArgs,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLSchema,
  getOperationAST,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
} from 'graphql';
import { checkAccess } from '../../auth/access.ts';
import type { Context, GatewayPlugin } from '../../context.ts';
import { BadRequestError, MAX_ERROR_ITEMS, REDACTED, ValidationError } from '../../errors/gateway-errors.ts';
import type { Path, ValidationIssue } from '../../errors/issue.ts';
import { describeTooManyItems } from '../../errors/validation-issues.ts';
import { contextOf } from '../../server/caller.ts';
import { TIME_MESSAGE } from '../../values/time.ts';
import type { IntrospectionReplies } from '../introspection-replies.ts';
import { createOperation, type Operation, type Variable } from '../operation.ts';
import { inspectInput } from '../secret-inputs.ts';
import { withStatus } from './masking.ts';
import { acceptsEvents } from './request.ts';

/**
 * Checks the variables of an operation before it runs. Root fields check permissions themselves; here, a missing one
 * only takes precedence over invalid variables. Charges introspection, and keeps its replies.
 */
export function useOperations(replies: IntrospectionReplies): GatewayPlugin {
  return {
    onExecute({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, contextValue } = args;
      const operation = findOperation(schema, document, operationName);
      const context = contextOf(contextValue.res);
      const errors = findErrors(operation, args, context);
      if (errors.length > 0) setResultAndStopExecution({ errors });
      else if (operation.rootAccess.length === 0) {
        context.quota.raiseMinimum(context, operation.cost);
        if (operation.variables.length > 0) return undefined;
        return {
          onExecuteDone({ result }) {
            if ('data' in result && !result.errors)
              replies.keep(contextValue.params.query ?? '', operationName, { data: result.data });
          },
        };
      }
      return undefined;
    },
    onSubscribe({ args, setResultAndStopExecution }) {
      const { schema, document, operationName, contextValue } = args;
      if (!acceptsEvents(contextValue.req)) throw withStatus(new BadRequestError(NO_EVENTS), 406);
      const operation = findOperation(schema, document, operationName);
      const errors = findErrors(operation, args, contextOf(contextValue.res));
      if (errors.length > 0) setResultAndStopExecution({ errors });
    },
  };
}

/** The operations of the documents that are still in use. Yoga caches the documents. */
const operations = new WeakMap<OperationDefinitionNode, Operation>();

/**
 * Finds the operation with a name in a valid document, or its only operation.
 * @throws {BadRequestError} if there is no such operation, or if there are several and no name
 */
export function findOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  name?: string | null,
): Operation {
  const node = getOperationAST(document, name);
  if (!node) throw new BadRequestError('Could not determine what operation to execute.');
  const operation = operations.get(node) ?? createOperation(schema, document, node);
  operations.set(node, operation);
  return operation;
}

/** Invalid variables fail the whole request. If permissions are missing too, only those are reported. */
function findErrors(
  { variables, rootAccess }: Operation,
  { variableValues }: Pick<ExecutionArgs, 'variableValues'>,
  { viewer }: Context,
) {
  const issues = findVariableIssues(variables, variableValues ?? {}, MAX_ERROR_ITEMS);
  if (issues.length === 0) return [];
  const refusals = rootAccess.flatMap((access) => checkAccess(access, viewer) ?? []);
  return refusals.length > 0 ? refusals : [new ValidationError(issues)];
}

const NO_EVENTS = 'A subscription requires a request that accepts text/event-stream.';

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
      if (!Object.hasOwn(fields, name)) this.#report('is not a known field', Reflect.get(value, name), name);
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
