/** The path of the GraphQL API. */
export const GRAPHQL_PATH = '/graphql';
