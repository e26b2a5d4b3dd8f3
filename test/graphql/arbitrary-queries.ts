import fc from 'fast-check';
import {
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  getNullableType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isObjectType,
} from 'graphql';
import { schema } from '../../src/schema.ts';
import { printLiteral } from '../support/root-fields.ts';

/** A query of the schema with its variables, valid or not. */
export type ArbitraryQuery = { query: string; variables: Record<string, unknown> };

const root = schema.getQueryType()?.getFields() ?? {};

/** Aliases with a meaning in JavaScript or JSON, and plain ones. */
const aliases = fc.constantFrom('__proto__', 'a', 'b', 'constructor', 'toJSON', 'then', 'hasOwnProperty');
const directives = fc.constantFrom('@include(if: true)', '@skip(if: true)', '@include(if: $yes)');
const optionally = <Value>(weight: number, value: fc.Arbitrary<Value>) =>
  fc.oneof({ weight: 10 - weight, arbitrary: fc.constant(undefined) }, { weight, arbitrary: value });

type Variable = { declaration: string; name: string; value: unknown };
type Part = { text: string; variables: Variable[] };

/** The number of variables so far, so that each has its own name. */
let count = 0;

/** Generates JSON values that match a type, or nearly do. */
function arbitraryValue(type: GraphQLInputType): fc.Arbitrary<unknown> {
  const inner = getNullableType(type);
  if (isListType(inner)) return fc.array(arbitraryValue(inner.ofType), { maxLength: 2 });
  if (isEnumType(inner)) return fc.constantFrom(...inner.getValues().map(({ name }) => name));
  if (isInputObjectType(inner)) {
    const fields = Object.values(inner.getFields());
    return fc.record(Object.fromEntries(fields.map(({ name, type }) => [name, arbitraryValue(type)])));
  }
  if (inner.name === 'Int') return fc.constantFrom(0, 1, 2, 50, 101, -1);
  if (inner.name === 'Boolean') return fc.boolean();
  return fc.constantFrom('', 'a', 'alice', 'n-1', '3c2a54a0-0000-4000-8000-000000000001', 'x\u0000');
}

type Form = (name: string, type: GraphQLInputType, value: unknown) => Part;

const asLiteral: Form = (name, type, value) => ({
  text: `${name}: ${printLiteral(type, value)}`,
  variables: [],
});

/** A variable of a declared type, for which the value, null or nothing is sent. */
const asVariable =
  (declare: (type: GraphQLInputType, literal: string) => string, sent: 'value' | 'null' | 'nothing'): Form =>
  (argument, type, value) => {
    count += 1;
    const name = `v${count}`;
    const declaration = `$${name}: ${declare(type, printLiteral(type, value))}`;
    const variable = { name, declaration, value: { value, null: null, nothing: undefined }[sent] };
    return { text: `${argument}: $${name}`, variables: [variable] };
  };

const nullable = (type: GraphQLInputType) => String(getNullableType(type));

/** The forms of an argument. Repeated forms are generated more often. */
const argumentForms: Form[] = [
  asLiteral,
  asLiteral,
  asVariable(String, 'value'),
  asVariable(String, 'value'),
  asVariable((type) => `${nullable(type)}!`, 'value'),
  asVariable((type, literal) => `${nullable(type)} = ${literal}`, 'nothing'),
  asVariable((type, literal) => `${nullable(type)} = ${literal}`, 'null'),
  asVariable(nullable, 'nothing'),
  asVariable(nullable, 'null'),
];

function argument(name: string, type: GraphQLInputType): fc.Arbitrary<Part> {
  return fc
    .tuple(fc.constantFrom(...argumentForms), arbitraryValue(type))
    .map(([give, value]) => give(name, type, value));
}

function field(definition: GraphQLField<unknown, unknown>, depth: number): fc.Arbitrary<Part> {
  const { name, args, type } = definition;
  const given = fc.tuple(
    ...args.map((arg) => optionally(String(arg.type).endsWith('!') ? 10 : 4, argument(arg.name, arg.type))),
  );
  return fc
    .tuple(optionally(4, aliases), given, optionally(1, directives), selection(getNamedType(type), depth - 1))
    .map(([alias, parts, directive = '', subselection]) => {
      const bound = parts.flatMap((part) => part?.text ?? []);
      return {
        text: `${alias ? `${alias}: ` : ''}${name}${bound.length > 0 ? `(${bound.join(', ')})` : ''} ${directive} ${subselection.text}`,
        variables: [...parts.flatMap((part) => part?.variables ?? []), ...subselection.variables],
      };
    });
}

function selection(type: GraphQLNamedType, depth: number): fc.Arbitrary<Part> {
  if (!isObjectType(type) && !isAbstractType(type)) return fc.constant({ text: '', variables: [] });
  return selections(type, depth).map(({ text, variables }) => ({ text: `{ ${text} }`, variables }));
}

function selections(type: GraphQLNamedType, depth: number): fc.Arbitrary<Part> {
  const typename = fc.constant<Part>({ text: '__typename', variables: [] });
  const own = isObjectType(type) || isInterfaceType(type) ? Object.values(type.getFields()) : [];
  const reachable = own.filter((one) => depth > 0 || !('getFields' in getNamedType(one.type)));
  const inner =
    isAbstractType(type) && depth > 0
      ? schema.getPossibleTypes(type).map((possible) =>
          selections(possible, depth - 1).map(({ text, variables }) => ({
            text: `... on ${possible.name} { ${text} }`,
            variables,
          })),
        )
      : [];
  return fc
    .array(fc.oneof(typename, ...reachable.map((one) => field(one, depth)), ...inner), {
      minLength: 1,
      maxLength: 4,
    })
    .map(join);
}

function join(parts: readonly Part[]): Part {
  return {
    text: parts.map(({ text }) => text).join(' '),
    variables: parts.flatMap(({ variables }) => variables),
  };
}

const introspection = fc.constant<Part>({ text: '__schema { queryType { name } }', variables: [] });

/**
 * Queries of every root field: aliases, fragments, directives, default values, nulls, and variables in every
 * position.
 */
export const arbitraryQueries: fc.Arbitrary<ArbitraryQuery> = fc
  .array(
    fc.oneof(
      { arbitrary: introspection, weight: 1 },
      ...Object.values(root).map((one) => ({ arbitrary: field(one, 4), weight: 4 })),
    ),
    { minLength: 1, maxLength: 3 },
  )
  .chain((parts) => fc.tuple(fc.constant(join(parts)), fc.boolean()))
  .map(([{ text, variables }, isNamed]) => {
    const declared = [
      ...variables.map(({ declaration }) => declaration),
      ...(text.includes('$yes') ? ['$yes: Boolean!'] : []),
    ];
    const head = `query ${declared.length > 0 ? `(${declared.join(', ')})` : ''}`;
    const sent = variables.filter(({ value }) => value !== undefined).map(({ name, value }) => [name, value]);
    return {
      query: isNamed ? `${head} { ...Whole } fragment Whole on Query { ${text} }` : `${head} { ${text} }`,
      variables: { ...Object.fromEntries(sent), yes: true },
    };
  });
