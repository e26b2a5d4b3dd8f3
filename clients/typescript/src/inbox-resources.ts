import type { AccountStore } from './account-store.ts';
import {
  type Collection,
  isFollowed,
  type Page,
  type Position,
  type Rules,
  selectList,
} from './collection.ts';
import { filterKey } from './filters.ts';
import { GatewayError } from './gateway-error.ts';
import * as documents from './generated/documents.ts';
import type { NotificationFilter, WorkspaceFilter } from './generated/types.ts';
import type { Inbox, List, NotificationList, WorkspaceList } from './inbox-types.ts';
import type {
  Counts,
  Delivery,
  EditorConnection,
  NotificationCard,
  Preference,
  WorkspaceCard,
} from './records.ts';
import { createResource, type ManagedResource, type ResourceContext, type Source } from './resource.ts';
import {
  applyCounts,
  applyEditorAuth,
  applyNotification,
  applyNotifications,
  applyPreferences,
  applyWorkspaces,
  type ListOf,
  notificationKey,
  notificationRules,
  type Sent,
  type State,
  workspaceRules,
} from './state.ts';
import { expectValue } from './transport.ts';
import type { TypedDocument } from './typed-document.ts';

/** The most records that the gateway returns in a page. */
const MAX_PAGE_SIZE = 100;

/** Sends an operation once. @throws {GatewayError} */
export type Send = <Data, Variables>(
  document: TypedDocument<Data, Variables>,
  variables: Variables,
  signal: AbortSignal,
) => Promise<Data>;

type PageRequest = { readonly first: number; readonly after?: string | null };

/** How a list of one type is loaded and shown. */
type ListSource<Item extends Position, Filter, Data> = {
  readonly key: string;
  readonly filter: Filter;
  readonly rules: Rules<Item, Filter>;
  collection(state: State): Collection<Item, Filter>;
  toData(items: readonly Item[], hasMore: boolean): Data;
  loadPage(page: PageRequest, signal: AbortSignal): Promise<Page<Item>>;
  apply(state: State, list: ListOf<Filter>, page: Page<Item>, sent: Sent): State;
};

/** The resources of an inbox. */
export type InboxResources = Pick<
  Inbox,
  'notifications' | 'notification' | 'counts' | 'preferences' | 'editorAuth' | 'workspaces' | 'deliveries'
> & {
  /** Those that were created so far. */
  readonly created: ReadonlyMap<string, ManagedResource<unknown>>;
};

/** Returns the key of the deliveries of a notification among all resources. */
export const deliveriesKey = (notificationId: string) => `deliveries ${notificationId}`;

/** Creates resources, which request nothing before they have subscribers. */
export function createResources(
  store: AccountStore,
  send: Send,
  context: ResourceContext<State>,
  pageSize: number,
): InboxResources {
  const created = new Map<string, ManagedResource<unknown>>();
  const withoutEvents = {
    ...context,
    hold: () => () => undefined,
    follows: () => Promise.resolve(),
    hasEvents: false,
  };

  function create<Data>(
    key: string,
    source: Source<State, Data>,
    within: ResourceContext<State> = context,
  ): ManagedResource<Data> {
    const resource = createResource(within, source);
    created.set(key, resource);
    return resource;
  }

  function createList<Item extends Position, Filter, Data>(list: ListSource<Item, Filter, Data>): List<Data> {
    const { key, filter, rules, collection } = list;
    const select = (state: State) => selectList(collection(state), rules, key);
    const extent = (state: State) => collection(state).lists.get(key);

    /** Loads at least so many records after a position, if there are as many. */
    function load(minimum: number, request: PageRequest, after: Position | undefined, signal: AbortSignal) {
      const loadPages = async () => {
        let page = await list.loadPage(request, signal);
        // A page may be short, and even empty, although others follow: the gateway checks a limited number of records.
        while (page.nodes.length < minimum && page.pageInfo.hasNextPage) {
          const next = await list.loadPage({ ...request, after: page.pageInfo.endCursor }, signal);
          page = { ...next, nodes: [...page.nodes, ...next.nodes] };
        }
        return page;
      };
      const apply = (state: State, page: Page<Item>, sent: Sent) =>
        list.apply(state, { key, filter, after }, page, sent);
      return store.query(loadPages, apply, signal);
    }

    const resource = create<Data>(key, {
      select(state) {
        const items = select(state);
        return items && list.toData(items, extent(state)?.end !== undefined);
      },
      load(signal) {
        // As many as are loaded, so that the list does not become shorter.
        const loaded = select(store.shown)?.length ?? 0;
        const first = Math.min(Math.max(loaded, pageSize), MAX_PAGE_SIZE);
        return load(Math.max(loaded, 1), { first }, undefined, signal);
      },
    });
    return Object.assign(resource, {
      async loadMore() {
        const { end, endCursor = null } = extent(store.shown) ?? {};
        if (end === undefined) return;
        await resource.loadPart((signal) => load(1, { first: pageSize, after: endCursor }, end, signal));
      },
    });
  }

  const notifications = remember((key, filter: NotificationFilter) =>
    createList<NotificationCard, NotificationFilter, ListData<NotificationList>>({
      key: `notifications ${key}`,
      filter,
      rules: notificationRules,
      collection: (state) => state.notifications,
      toData: (items, hasMore) => ({ notifications: items, hasMore }),
      loadPage: async (page, signal) =>
        expectValue((await send(documents.Notifications, { ...page, filter }, signal)).notifications),
      apply: applyNotifications,
    }),
  );

  const workspaces = remember((key, filter: WorkspaceFilter) =>
    createList<WorkspaceCard, WorkspaceFilter, ListData<WorkspaceList>>({
      key: `workspaces ${key}`,
      filter,
      rules: workspaceRules,
      collection: (state) => state.workspaces,
      toData: (items, hasMore) => ({ workspaces: items, hasMore }),
      loadPage: async (page, signal) =>
        expectValue((await send(documents.Workspaces, { ...page, filter }, signal)).workspaces),
      apply: applyWorkspaces,
    }),
  );

  const notification = remember((_key, id: string) =>
    create<NotificationCard | null>(notificationKey(id), {
      select: (state) => state.notifications.entries.get(id)?.item,
      isFresh: (state) => isFollowed(state.notifications, id),
      load: (signal) =>
        store.query(
          async () => {
            try {
              return expectValue((await send(documents.Notification, { id }, signal)).notification);
            } catch (error) {
              if (error instanceof GatewayError && error.code === 'NOT_FOUND') return null;
              throw error;
            }
          },
          (state, card, sent) => applyNotification(state, id, card, sent),
          signal,
        ),
    }),
  );

  const deliveries = remember((_key, notificationId: string) =>
    create<readonly Delivery[]>(
      deliveriesKey(notificationId),
      {
        select: (state) => state.deliveries.get(notificationId),
        load: (signal) =>
          store.query(
            async () =>
              expectValue((await send(documents.Deliveries, { notificationId }, signal)).deliveries),
            (state, loaded) => ({
              ...state,
              deliveries: new Map(state.deliveries).set(notificationId, loaded),
            }),
            signal,
          ),
      },
      withoutEvents,
    ),
  );

  return {
    created,
    notifications: (filter = { statuses: ['ACTIVE'] }) => notifications(filterKey(filter), filter),
    workspaces: (filter = {}) => workspaces(filterKey(filter), filter),
    notification: (id) => notification(id, id),
    deliveries: (notificationId) => deliveries(notificationId, notificationId),
    counts: create<Counts>('counts', {
      select: (state) => state.counts?.value,
      load: (signal) =>
        store.query(
          async () => expectValue((await send(documents.Counts, {}, signal)).notificationCounts),
          applyCounts,
          signal,
        ),
    }),
    editorAuth: create<EditorConnection>('editorAuth', {
      select: (state) => state.editorAuth?.value,
      load: (signal) =>
        store.query(
          async () => expectValue((await send(documents.EditorConnection, {}, signal)).editorAuth),
          applyEditorAuth,
          signal,
        ),
    }),
    preferences: create<readonly Preference[]>(
      'preferences',
      {
        select: (state) => state.preferences?.value,
        load: (signal) =>
          store.query(
            async () => expectValue((await send(documents.Preferences, {}, signal)).notificationPreferences),
            applyPreferences,
            signal,
          ),
      },
      withoutEvents,
    ),
  };
}

type ListData<Of extends List<unknown>> = NonNullable<ReturnType<Of['get']>['data']>;

/** Returns a function that creates one value for each key. */
function remember<Input, Value>(
  create: (key: string, input: Input) => Value,
): (key: string, input: Input) => Value {
  const created = new Map<string, Value>();
  return (key, input) => {
    const value = created.get(key) ?? create(key, input);
    created.set(key, value);
    return value;
  };
}
