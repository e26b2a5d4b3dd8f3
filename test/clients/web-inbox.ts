import {
  type AnyVariables,
  type Client,
  type CombinedError,
  createClient,
  fetchExchange,
  type OperationResult,
  type OperationResultSource,
} from '@urql/core';
import type { ResultOf, VariablesOf } from 'gql.tada';
import { createGraphcache } from './graphcache.ts';
import {
  type Card,
  ChooseChannels,
  Counts,
  Dismiss,
  Events,
  Inbox,
  Preferences,
  Workspaces,
} from './web-operations.ts';
import { introspection } from './web-schema.ts';

export type { Card };

/** Creates a client of a gateway; `token` is called for every request. */
export function connect(address: string, token: () => string): Client {
  return createClient({
    url: `${address}/graphql`,
    exchanges: [createGraphcache(introspection), fetchExchange],
    // Reads server-sent events with `fetch`, because `EventSource` cannot send the token.
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { Authorization: `Bearer ${token()}` } }),
  });
}

/** Returns the data of a result. @throws {CombinedError} the gateway's or the network's error */
function expectData<Data, Variables extends AnyVariables>({
  data,
  error,
}: OperationResult<Data, Variables>): Data {
  if (error) throw error;
  if (data === undefined) throw new Error('The result has neither data nor an error.');
  return data;
}

/** Returns the value of a root field, which is null only together with an error, and errors are thrown. */
function expectValue<Value>(value: Value | null): Value {
  if (value === null) throw new Error('A root field is null without an error.');
  return value;
}

/** A part of the screen: shows a value, or reports an error. */
export type View<Shown> = { show(shown: Shown): void; fail(error: CombinedError): void };

/**
 * Shows a value picked from a query's result, initially and on every cache update. Returns a function that stops it.
 */
function watch<Data, Variables extends AnyVariables, Shown>(
  results: OperationResultSource<OperationResult<Data, Variables>>,
  pick: (data: Data) => Shown,
  view: View<Shown>,
): () => void {
  const { unsubscribe } = results.subscribe((result) => {
    if (result.error) view.fail(result.error);
    else view.show(pick(expectData(result)));
  });
  return unsubscribe;
}

/** Shows the newest notifications of the inbox. */
export function showInbox(client: Client, view: View<readonly Card[]>): () => void {
  return watch(client.query(Inbox, { first: 20 }), (data) => expectValue(data.notifications).nodes, view);
}

/** Shows the number of active notifications. */
export function showTotal(client: Client, view: View<number>): () => void {
  return watch(client.query(Counts, {}), (data) => expectValue(data.notificationCounts).total, view);
}

/** Returns the cursor of the latest change. To miss none, call this first, then show the inbox, then follow. */
export async function currentCursor(client: Client): Promise<string> {
  const result = await client.query(Counts, {}, { requestPolicy: 'network-only' });
  return expectValue(expectData(result).notificationCounts).cursor;
}

/** Dismisses a notification. The cache removes it from the inbox. */
export async function dismiss(client: Client, id: string): Promise<void> {
  expectData(await client.mutation(Dismiss, { id }));
}

/**
 * Applies every change after a cursor to the cache until aborted. A broken connection is resumed after the last event
 * received.
 */
export async function follow(client: Client, after: string, signal: AbortSignal): Promise<void> {
  for (let cursor = after; !signal.aborted; ) {
    cursor = await followUntilDisconnected(client, cursor, signal);
    await pause(signal);
  }
}

function followUntilDisconnected(client: Client, after: string, signal: AbortSignal): Promise<string> {
  return new Promise((resolve) => {
    let cursor = after;
    const end = () => {
      subscription.unsubscribe();
      resolve(cursor);
    };
    const subscription = client.subscription(Events, { after }).subscribe(({ data, error, hasNext }) => {
      cursor = data?.notificationEvents.cursor ?? cursor;
      if (error || !hasNext) end();
    });
    signal.addEventListener('abort', end, { once: true });
  });
}

/** Waits one to two seconds, so that clients that were disconnected together do not reconnect together. */
function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 + 1000 * Math.random());
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export type Preference = NonNullable<ResultOf<typeof Preferences>['notificationPreferences']>[number];

/** Shows the channels of every kind of notification. */
export function showPreferences(client: Client, view: View<readonly Preference[]>): () => void {
  return watch(client.query(Preferences, {}), (data) => expectValue(data.notificationPreferences), view);
}

/** Stores the chosen channels. The cache updates the list of preferences. */
export async function chooseChannels(
  client: Client,
  preferences: VariablesOf<typeof ChooseChannels>['input']['preferences'],
): Promise<void> {
  expectData(await client.mutation(ChooseChannels, { input: { preferences } }));
}

type WorkspacePage = NonNullable<ResultOf<typeof Workspaces>['workspaces']>;

/** Reads the workspaces page by page; every result contains all workspaces read so far. */
export async function* readWorkspaces(client: Client, first: number): AsyncGenerator<WorkspacePage['nodes']> {
  for (let after: string | null = null; ; ) {
    const page: WorkspacePage = expectValue(
      expectData(await client.query(Workspaces, { first, after })).workspaces,
    );
    yield page.nodes;
    if (!page.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}
