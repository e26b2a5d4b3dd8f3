import { type Client, createClient, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { Notifications } from '@workspace-account/client/operations';
import { graphcacheOptions } from '@workspace-account/client/urql';

/** Creates a client whose cache knows the gateway's schema. */
export function createUrqlClient(url: string, token: string): Client {
  return createClient({
    url,
    exchanges: [cacheExchange(graphcacheOptions), fetchExchange],
    fetchOptions: { headers: { Authorization: `Bearer ${token}` } },
    preferGetMethod: false,
    // Subscriptions are server-sent events, which urql reads with `fetch`.
    fetchSubscriptions: true,
  });
}

/** Returns the titles of the newest notifications. */
export async function listTitles(client: Client): Promise<string[]> {
  const { data } = await client.query(Notifications, { first: 20 });
  return data?.notifications?.nodes.map(({ title }) => title) ?? [];
}
