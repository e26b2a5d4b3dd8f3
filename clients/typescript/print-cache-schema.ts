import { minifyIntrospectionQuery } from '@urql/introspection';
import {
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  getNullableType,
  introspectionFromSchema,
  isAbstractType,
  isListType,
  isObjectType,
  lexicographicSortSchema,
} from 'graphql';

/** Prints what caches need to know of the types of a schema. */
export function printObjectTypes(schema: GraphQLSchema): string {
  const types = Object.values(lexicographicSortSchema(schema).getTypeMap());
  const objects = types.filter(isObjectType).filter(({ name }) => !name.startsWith('__'));
  const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()];
  const rootNames = roots.map((root) => root?.name);
  const others = objects.filter(({ name }) => !rootNames.includes(name));
  const isRecord = (type: GraphQLObjectType) => 'ref' in type.getFields();
  const abstract = types.filter((type) => isAbstractType(type));
  const namesOf = (list: readonly { readonly name: string }[]) => list.map(({ name }) => name);
  return [
    declare(
      'The interfaces and unions, with the object types that each can be.',
      'possibleTypes: Record<string, string[]>',
      Object.fromEntries(abstract.map((type) => [type.name, namesOf(schema.getPossibleTypes(type))])),
    ),
    declare(
      'The types whose objects are records, identified by `ref`.',
      'recordTypes: readonly string[]',
      namesOf(others.filter(isRecord)),
    ),
    declare(
      'The types whose objects are parts of a record, of a payload or of an event, even if they have an `id`.',
      'partTypes: readonly string[]',
      namesOf(others.filter((type) => !isRecord(type))),
    ),
    declare(
      'The fields that are connections, by type, with their arguments.',
      'connections: Record<string, Record<string, readonly string[]>>',
      collectFields(objects, (field) =>
        getNullableType(field.type).toString().endsWith('Connection') ? namesOf(field.args) : undefined,
      ),
    ),
    declare(
      'The fields that are lists, by type.',
      'lists: Record<string, readonly string[]>',
      Object.fromEntries(
        Object.entries(
          collectFields(objects, ({ type }) => isListType(getNullableType(type)) || undefined),
        ).map(([name, fields]) => [name, Object.keys(fields)]),
      ),
    ),
  ].join('\n');
}

/** Returns what a function returns of fields, by type and field, without those for which it is undefined. */
function collectFields<Value>(
  types: readonly GraphQLObjectType[],
  read: (field: GraphQLField<unknown, unknown>) => Value | undefined,
): Record<string, Record<string, Value>> {
  const found: Record<string, Record<string, Value>> = {};
  for (const type of types) {
    for (const field of Object.values(type.getFields())) {
      const value = read(field);
      if (value !== undefined) found[type.name] = { ...found[type.name], [field.name]: value };
    }
  }
  return found;
}

/** Prints the part of a schema's introspection that graphcache reads. */
export function printIntrospection(schema: GraphQLSchema): string {
  const { __schema } = minifyIntrospectionQuery(
    introspectionFromSchema(lexicographicSortSchema(schema), { descriptions: false }),
  );
  return declare(
    'The types of the schema with their fields.',
    "introspection: NonNullable<CacheExchangeOpts['schema']>",
    { __schema },
    "import type { CacheExchangeOpts } from '@urql/exchange-graphcache';\n\n",
  );
}

function declare(comment: string, declaration: string, value: unknown, imports = ''): string {
  return `${imports}/** ${comment} */\nexport const ${declaration} = ${JSON.stringify(value)};\n`;
}
