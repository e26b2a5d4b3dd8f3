import type {
  Cache,
  CacheExchangeOpts,
  KeyingConfig,
  Resolver,
  ResolverConfig,
  UpdateResolver,
} from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { findPlace, matchesFilter } from './cached-list.ts';
import { introspection } from './generated/introspection.ts';
import { connections, partTypes, recordTypes } from './generated/object-types.ts';

/** Without `ref`, a record is stored as part of its parent, and changes of it do not appear elsewhere. */
function readRef({ __typename, ref }: { __typename: string; ref?: unknown }): string | null {
  if (typeof ref === 'string') return ref;
  // biome-ignore lint/suspicious/noConsole: graphcache warns of missing fields in this way, too.
  console.warn(`The cache needs the field \`ref\` of ${__typename}.`);
  return null;
}

const keys: KeyingConfig = {
  ...Object.fromEntries(recordTypes.map((name) => [name, readRef])),
  // Other objects are stored as part of their record, even if they have an `id`.
  ...Object.fromEntries(partTypes.map((name) => [name, () => null])),
};

const joinPages = relayPagination();

/** Appends the pages of a list to each other, and hides records that no longer match its filter. */
const pages: Resolver = (parent, args, cache, info) => {
  // `relayPagination` ignores lists without arguments.
  if (Object.keys(args).length === 0) return cache.resolve(info.parentKey, info.fieldName);
  const page = cache.resolve(info.parentKey, info.fieldName, args);
  const { filter } = args;
  const joined = joinPages(parent, args, cache, info);
  if (!joined || typeof page !== 'string') return joined;
  const isShown = (node: unknown) =>
    typeof node !== 'string' || matchesFilter(filter, readFrom(cache, node), true);
  // `relayPagination` returns empty lists for fields that were never loaded.
  const isLoaded = (field: string) => cache.resolve(page, field) !== undefined;
  return {
    ...joined,
    nodes: isLoaded('nodes') ? joined.nodes.filter(isShown) : undefined,
    edges: isLoaded('edges')
      ? joined.edges.filter((edge: string) => isShown(cache.resolve(edge, 'node')))
      : undefined,
    pageInfo: isLoaded('pageInfo') ? joined.pageInfo : undefined,
  };
};

const resolvers: ResolverConfig = Object.fromEntries(
  Object.entries(connections).map(([name, fields]) => [
    name,
    Object.fromEntries(Object.keys(fields).map((field) => [field, pages])),
  ]),
);

function readFrom(cache: Cache, record: string) {
  return (...[name, member]: readonly [string, ...string[]]): unknown => {
    const value = cache.resolve(record, name);
    return member !== undefined && typeof value === 'string' ? cache.resolve(value, member) : value;
  };
}

/** Changes the nodes of every loaded page of the caller's lists: those of the query itself and of its `viewer`. */
function changePages(
  cache: Cache,
  field: 'notifications' | 'workspaces',
  change: (nodes: readonly string[], page: string, filter: unknown) => readonly string[],
): void {
  for (const parent of ['Query', cache.resolve('Query', 'viewer')]) {
    if (typeof parent !== 'string') continue;
    for (const { fieldName, arguments: args } of cache.inspectFields(parent)) {
      const page = fieldName === field && cache.resolve(parent, fieldName, args);
      const nodes = typeof page === 'string' && cache.resolve(page, 'nodes');
      if (typeof page !== 'string' || !Array.isArray(nodes)) continue;
      const keysOfNodes = nodes.filter((node) => typeof node === 'string');
      const { filter } = args ?? {};
      const changed = change(keysOfNodes, page, filter);
      if (changed !== keysOfNodes) cache.link(page, 'nodes', [...changed]);
    }
  }
}

/** Adds a record to pages at the place of its creation, unless that place is on a page that was not loaded. */
function addRecord(cache: Cache, field: 'notifications' | 'workspaces', key: string): void {
  changePages(cache, field, (nodes, page, filter) => {
    if (nodes.includes(key) || !matchesFilter(filter, readFrom(cache, key), false)) return nodes;
    const [createdAt, ...others] = [key, ...nodes].map((node) => cache.resolve(node, 'createdAt'));
    const pageInfo = cache.resolve(page, 'pageInfo');
    const hasNextPage = typeof pageInfo === 'string' && cache.resolve(pageInfo, 'hasNextPage') === true;
    const place = findPlace(createdAt, others, hasNextPage);
    return place === undefined ? nodes : [...nodes.slice(0, place), key, ...nodes.slice(place)];
  });
}

/** The members of events that change lists. */
type Event = {
  readonly notification?: { readonly __typename: string };
  readonly workspace?: { readonly __typename: string } | null;
  readonly workspaceId?: string;
};

/** Applies an event, or its `content`, to the lists of the caller. */
const applyEvent: UpdateResolver<Record<string, Event & { readonly content?: Event }>> = (
  result,
  { userId },
  cache,
  { fieldName },
) => {
  const event = result[fieldName]?.content ?? result[fieldName];
  if (!event || userId) return;
  const { notification, workspace, workspaceId } = event;
  const notificationKey = notification && cache.keyOfEntity(notification);
  if (notificationKey) addRecord(cache, 'notifications', notificationKey);
  const workspaceKey = workspace && cache.keyOfEntity(workspace);
  if (workspaceKey) addRecord(cache, 'workspaces', workspaceKey);
  if (workspace === null)
    changePages(cache, 'workspaces', (nodes) =>
      nodes.filter((node) => cache.resolve(node, 'id') !== workspaceId),
    );
};

const updates = {
  Subscription: {
    accountEvents: applyEvent,
    notificationEvents: applyEvent,
    workspaceEvents: applyEvent,
  },
};

/**
 * The options of a `cacheExchange` that identifies records by `ref`, joins the pages of lists, and applies live events to
 * them.
 */
export const graphcacheOptions: Required<
  Pick<CacheExchangeOpts, 'keys' | 'resolvers' | 'updates' | 'schema'>
> = { schema: introspection, keys, resolvers, updates };
