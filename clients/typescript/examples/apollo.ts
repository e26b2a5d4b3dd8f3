import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client';
import { apolloCacheOptions } from '@workspace-account/client/apollo';
import { Notifications } from '@workspace-account/client/operations';

/** Creates a client whose cache knows the gateway's schema. */
export function createApolloClient(uri: string, token: string): ApolloClient {
  return new ApolloClient({
    cache: new InMemoryCache(apolloCacheOptions),
    link: new HttpLink({ uri, headers: { Authorization: `Bearer ${token}` } }),
  });
}

/** Returns the titles of the newest notifications. */
export async function listTitles(client: ApolloClient): Promise<string[]> {
  const { data } = await client.query({ query: Notifications, variables: { first: 20 } });
  return data?.notifications?.nodes.map(({ title }) => title) ?? [];
}
