import {
  BREAK,
  type GraphQLSchema,
  Kind,
  OperationTypeNode,
  print,
  TypeInfo,
  visit,
  visitWithTypeInfo,
} from 'graphql';
import { type CompiledQuery, compileQuery, isCompiledQuery } from 'graphql-jit';
import type { Operation } from './operation.ts';
import { mayContainSecret } from './secret-inputs.ts';

/** Longer documents are always interpreted, because compiled code grows with the document. */
const MAX_COMPILED_CHARACTERS = 8192;

/** Compiles an operation. Returns `undefined` if the compiler cannot. */
export function compile(schema: GraphQLSchema, { document, node }: Operation): CompiledQuery | undefined {
  const query = compileQuery(schema, document, node.name?.value);
  return isCompiledQuery(query) ? query : undefined;
}

/**
 * Whether a compiled operation provably returns the same result as graphql-js. It must be the only operation of its
 * document, a query without directives or introspection. Each argument must be a constant, or consist of a single
 * variable whose type is the argument's type or the non-null form of it. Otherwise, the compiler may drop variables
 * inside literals of custom scalars or accept `null` for a non-null type. It also copies constants into the code, so no
 * argument may contain a credential.
 */
export function isCompilable(schema: GraphQLSchema, operation: Operation): boolean {
  const { document, node } = operation;
  const operations = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
  if (node.operation !== OperationTypeNode.QUERY || operations.length > 1) return false;
  if ((document.loc?.end ?? 0) > MAX_COMPILED_CHARACTERS) return false;
  return hasOnlyCompilableNodes(schema, operation);
}

/** Whether all fields, fragments and arguments of a document can be compiled. */
function hasOnlyCompilableNodes(schema: GraphQLSchema, { document, node }: Operation): boolean {
  const variables = node.variableDefinitions ?? [];
  const variableTypes = new Map(variables.map(({ variable, type }) => [variable.name.value, print(type)]));
  const typeInfo = new TypeInfo(schema);
  const spread = new Set<string>();
  let isSupported = true;
  const refuse = () => {
    isSupported = false;
    return BREAK;
  };
  visit(
    document,
    visitWithTypeInfo(typeInfo, {
      Directive: refuse,
      Field({ name, alias }) {
        const isMeta = name.value.startsWith('__') && name.value !== '__typename';
        return isMeta || alias?.value.startsWith('__') ? refuse() : undefined;
      },
      // Each spread is compiled separately, so repeated spreads could make the code exponentially large.
      FragmentSpread({ name }) {
        if (spread.has(name.value)) return refuse();
        spread.add(name.value);
        return undefined;
      },
      Argument() {
        const argument = typeInfo.getArgument();
        return !argument || mayContainSecret(argument.type) ? refuse() : undefined;
      },
      Variable({ name }, _key, parent) {
        const argument = typeInfo.getArgument();
        if (!argument) return undefined;
        const isWhole = parent !== undefined && 'kind' in parent && parent.kind === Kind.ARGUMENT;
        const type = variableTypes.get(name.value);
        const isSame = type === String(argument.type) || type === `${argument.type}!`;
        return isWhole && isSame ? undefined : refuse();
      },
    }),
  );
  return isSupported;
}
