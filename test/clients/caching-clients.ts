import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client';
import { createClient as createUrqlClient, fetchExchange, type OperationResult } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { OperationTypeNode, print } from 'graphql';
import { createClient } from 'graphql-sse';
import { firstValueFrom, map, Observable, take, toArray } from 'rxjs';
import { afterEach, beforeEach, describe, expect, type MockInstance, vi } from 'vitest';
import { apolloCacheOptions } from '../../clients/typescript/src/apollo.ts';
import { graphcacheOptions } from '../../clients/typescript/src/urql.ts';

type Variables = Record<string, unknown>;
// biome-ignore lint/suspicious/noExplicitAny: tests assert on data of any shape.
type Data = any;

/** A client with a normalized cache. Reads from the cache return `undefined` unless it contains all data. */
export type CachingClient = {
  fetch(query: string, variables?: Variables): Promise<Data>;
  readCached(query: string, variables?: Variables): Promise<Data>;
  mutate(mutation: string, variables?: Variables): Promise<Data>;
  /** Returns the first events of a subscription, which are then stored in the cache. */
  follow(subscription: string, variables: Variables, count: number): Promise<Data[]>;
};

/** Apollo Client with its cache. */
function createApollo(address: string, token: string): CachingClient {
  const request = { url: `${address}/graphql`, headers: { Authorization: `Bearer ${token}` } };
  const events = createClient({ ...request, retryAttempts: 0 });
  const client = new ApolloClient({
    cache: new InMemoryCache(apolloCacheOptions),
    link: ApolloLink.split(
      ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
      new ApolloLink(
        ({ query, variables }) =>
          new Observable((observer) =>
            events.subscribe(
              { query: print(query), variables },
              {
                next({ data, errors }) {
                  if (errors) observer.error(new Error(errors[0]?.message));
                  else observer.next({ data: data ?? null });
                },
                error: (error) => observer.error(error),
                complete: () => observer.complete(),
              },
            ),
          ),
      ),
      new HttpLink({ uri: request.url, headers: request.headers }),
    ),
  });
  return {
    async fetch(query, variables = {}) {
      return (await client.query({ query: gql(query), variables, fetchPolicy: 'network-only' })).data;
    },
    async readCached(query, variables = {}) {
      return client.readQuery({ query: gql(query), variables }) ?? undefined;
    },
    async mutate(mutation, variables = {}) {
      return (await client.mutate({ mutation: gql(mutation), variables })).data;
    },
    follow(subscription, variables, count) {
      const results = client.subscribe<Data>({ query: gql(subscription), variables });
      return firstValueFrom(results.pipe(map(expectData), take(count), toArray()));
    },
  };
}

/** Returns the data of a result. @throws {Error} the error of the gateway or of the cache */
function expectData({ data, error }: { data?: Data; error?: Error | undefined }): Data {
  if (error) throw error;
  return data ?? undefined;
}

/** urql with graphcache. */
function createUrql(address: string, token: string): CachingClient {
  const client = createUrqlClient({
    url: `${address}/graphql`,
    exchanges: [cacheExchange(graphcacheOptions), fetchExchange],
    // Reads server-sent events with `fetch`, because `EventSource` cannot send the token.
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetchOptions: { headers: { Authorization: `Bearer ${token}` } },
  });
  return {
    async fetch(query, variables = {}) {
      return expectData(await client.query(query, variables, { requestPolicy: 'network-only' }));
    },
    async readCached(query, variables = {}) {
      return expectData(await client.query(query, variables, { requestPolicy: 'cache-only' }));
    },
    async mutate(mutation, variables = {}) {
      return expectData(await client.mutation(mutation, variables));
    },
    follow(subscription, variables, count) {
      const results = new Observable<OperationResult>((observer) => {
        const { unsubscribe } = client
          .subscription(subscription, variables)
          .subscribe((result) => observer.next(result));
        // While urql passes on an event, unsubscribing would leave its rejected promise unhandled.
        return () => setTimeout(unsubscribe);
      });
      return firstValueFrom(results.pipe(map(expectData), take(count), toArray()));
    },
  };
}

/** Describes tests of both caches, in which no client may log a warning or an error. */
export function describeCaches(
  name: string,
  defineTests: (create: (address: string, token: string) => CachingClient, isApollo: boolean) => void,
): void {
  describe.each([
    ['Apollo Client', createApollo],
    ['urql', createUrql],
  ])(`${name} of %s`, (_name, create) => {
    let spies: MockInstance[] = [];
    beforeEach(() => {
      spies = [vi.spyOn(console, 'warn'), vi.spyOn(console, 'error')];
    });
    afterEach(() => {
      const logged = spies.flatMap(({ mock }) => mock.calls.map((values) => values.join(' ')));
      for (const spy of spies) spy.mockRestore();
      expect(logged).toEqual([]);
    });
    defineTests(create, create === createApollo);
  });
}
