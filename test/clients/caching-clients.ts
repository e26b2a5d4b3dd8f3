import { ApolloClient, gql, HttpLink } from '@apollo/client';
import { createApolloCache } from './apollo-cache.ts';
import { connect } from './web-inbox.ts';

/** A client with a normalized cache. Reads from the cache return `undefined` unless it contains all data. */
export type CachingClient = {
  fetch(query: string): Promise<unknown>;
  readCached(query: string): Promise<unknown>;
  mutate(mutation: string): Promise<unknown>;
};

/** Apollo Client with its cache. */
export function createApollo(address: string, token: string): CachingClient {
  const client = new ApolloClient({
    cache: createApolloCache(),
    link: new HttpLink({ uri: `${address}/graphql`, headers: { Authorization: `Bearer ${token}` } }),
  });
  return {
    async fetch(query) {
      return (await client.query({ query: gql(query), fetchPolicy: 'network-only' })).data;
    },
    async readCached(query) {
      return client.readQuery({ query: gql(query) }) ?? undefined;
    },
    async mutate(mutation) {
      return (await client.mutate({ mutation: gql(mutation) })).data;
    },
  };
}

/** urql with graphcache. */
export function createUrql(address: string, token: string): CachingClient {
  const client = connect(address, () => token);
  const expectData = ({ data, error }: { data?: unknown; error?: Error | undefined }) => {
    if (error) throw error;
    return data ?? undefined;
  };
  return {
    async fetch(query) {
      return expectData(await client.query(query, {}, { requestPolicy: 'network-only' }));
    },
    async readCached(query) {
      return expectData(await client.query(query, {}, { requestPolicy: 'cache-only' }));
    },
    async mutate(mutation) {
      return expectData(await client.mutation(mutation, {}));
    },
  };
}
