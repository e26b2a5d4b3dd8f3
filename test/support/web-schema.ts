import { buildSchema, introspectionFromSchema } from 'graphql';

/**
 * Prints `test/clients/web-schema.ts` from the SDL, one line per type. gql.tada's own command requires a TypeScript
 * older than 7, which still has a JavaScript API.
 */
export function printWebSchema(sdl: string): string {
  const { __schema } = introspectionFromSchema(buildSchema(sdl), {
    descriptions: false,
    specifiedByUrl: false,
    oneOf: true,
  });
  const { queryType, mutationType, subscriptionType } = __schema;
  const types = __schema.types.filter(({ name }) => !name.startsWith('__'));
  const root = (type: { name: string } | null | undefined) =>
    JSON.stringify({ kind: 'OBJECT', name: type?.name });
  return `// biome-ignore-all format: printed from schema.graphql
/** The schema, for the types of operations and for the cache. */
export const introspection = {
  __schema: {
    queryType: ${root(queryType)},
    mutationType: ${root(mutationType)},
    subscriptionType: ${root(subscriptionType)},
    directives: [],
    types: [
${types.map((type) => JSON.stringify(type)).join(',\n')}
    ],
  },
} as const;
`;
}
