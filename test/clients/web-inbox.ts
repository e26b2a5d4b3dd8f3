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
import { createCache } from './web-cache.ts';
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

export type { Card };

/** Connects the screen to a gateway; `token` is asked for at every request. */
export function connect(address: string, token: () => string): Client {
  return createClient({
    url: `${address}/graphql`,
    exchanges: [createCache(), fetchExchange],
    // Server-sent events by `fetch`, which can send the token; `EventSource` cannot.
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetchOptions: () => ({ headers: { Authorization: `Bearer ${token()}` } }),
  });
}

/** What the result of an operation holds. @throws {CombinedError} as the gateway or the network told it */
function dataOf<Data, Variables extends AnyVariables>({
  data,
  error,
}: OperationResult<Data, Variables>): Data {
  if (error) throw error;
  if (data === undefined) throw new Error('Neither data nor an error came.');
  return data;
}

/** A root field's answer. A root field is null only where an error was told, and that was thrown. */
function present<Value>(value: Value | null): Value {
  if (value === null) throw new Error('A root field is null without an error.');
  return value;
}

/** A part of the screen: what it shows, and what it says where that cannot be had. */
export type View<Shown> = { show(shown: Shown): void; fail(error: CombinedError): void };

/** Shows what is picked from a query's result, again whenever the cache changes. Answers what ends it. */
function watch<Data, Variables extends AnyVariables, Shown>(
  results: OperationResultSource<OperationResult<Data, Variables>>,
  pick: (data: Data) => Shown,
  view: View<Shown>,
): () => void {
  const { unsubscribe } = results.subscribe((result) => {
    if (result.error) view.fail(result.error);
    else view.show(pick(dataOf(result)));
  });
  return unsubscribe;
}

/** Shows the newest cards of the inbox. */
export function showInbox(client: Client, view: View<readonly Card[]>): () => void {
  return watch(client.query(Inbox, { first: 20 }), (data) => present(data.notifications).nodes, view);
}

/** Shows how many notifications wait. */
export function showTotal(client: Client, view: View<number>): () => void {
  return watch(client.query(Counts, {}), (data) => present(data.notificationCounts).total, view);
}

/** Where changes go on from now. To lose none, ask for it, then show the inbox, then follow. */
export async function presentCursor(client: Client): Promise<string> {
  const result = await client.query(Counts, {}, { requestPolicy: 'network-only' });
  return present(dataOf(result).notificationCounts).cursor;
}

/** Puts a card away. The cache takes it out of the inbox. */
export async function dismiss(client: Client, id: string): Promise<void> {
  dataOf(await client.mutation(Dismiss, { id }));
}

/**
 * Brings every change behind a cursor into the cache, until it is told to leave. What was cut goes on behind the last
 * event that came.
 */
export async function follow(client: Client, after: string, leave: AbortSignal): Promise<void> {
  for (let cursor = after; !leave.aborted; ) {
    cursor = await followUntilCut(client, cursor, leave);
    await pause(leave);
  }
}

function followUntilCut(client: Client, after: string, leave: AbortSignal): Promise<string> {
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
    leave.addEventListener('abort', end, { once: true });
  });
}

/** A second or two, so that clients that were cut at once do not come back at once. */
function pause(leave: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, 1000 + 1000 * Math.random());
    leave.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

export type Preference = NonNullable<ResultOf<typeof Preferences>['notificationPreferences']>[number];

/** Shows the channels of every kind. */
export function showPreferences(client: Client, view: View<readonly Preference[]>): () => void {
  return watch(client.query(Preferences, {}), (data) => present(data.notificationPreferences), view);
}

/** Chooses channels; the cache keeps each preference by its kind. */
export async function chooseChannels(
  client: Client,
  preferences: VariablesOf<typeof ChooseChannels>['input']['preferences'],
): Promise<void> {
  dataOf(await client.mutation(ChooseChannels, { input: { preferences } }));
}

type WorkspacePage = NonNullable<ResultOf<typeof Workspaces>['workspaces']>;

/** Reads the workspaces page by page; each time the cache answers all that were read so far. */
export async function* readWorkspaces(client: Client, first: number): AsyncGenerator<WorkspacePage['nodes']> {
  for (let after: string | null = null; ; ) {
    const page: WorkspacePage = present(dataOf(await client.query(Workspaces, { first, after })).workspaces);
    yield page.nodes;
    if (!page.pageInfo.hasNextPage) return;
    after = page.pageInfo.endCursor;
  }
}
