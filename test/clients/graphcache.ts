import {
  type Cache,
  cacheExchange,
  type KeyingConfig,
  type Resolver,
  type ResolverConfig,
  type UpdateResolver,
} from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';

type TypeRef = { readonly name?: string | null; readonly ofType?: TypeRef | null };

/** The result of an introspection query. */
export type Introspection = {
  readonly __schema: {
    readonly queryType: { readonly name: string };
    readonly mutationType?: { readonly name: string } | null;
    readonly subscriptionType?: { readonly name: string } | null;
    readonly types: readonly {
      readonly kind: string;
      readonly name: string;
      readonly fields?: readonly { readonly name: string; readonly type: TypeRef }[] | null;
    }[];
  };
};

/** Creates a cache that identifies records by `ref`, joins pages, and applies live events to lists of notifications. */
export function createGraphcache(schema: Introspection) {
  const resolvers: ResolverConfig = {};
  for (const { name, fields } of schema.__schema.types) {
    const lists = (fields ?? []).filter(({ type }) => (type.ofType ?? type).name?.endsWith('Connection'));
    if (lists.length > 0) resolvers[name] = Object.fromEntries(lists.map((field) => [field.name, pages]));
  }
  const updates = { Subscription: { notificationEvents } };
  return cacheExchange({ schema, keys: findKeys(schema), resolvers, updates });
}

/** Returns the keys of all types. Objects without `ref` are stored as part of their record, even if they have an `id`. */
export function findKeys({ __schema: { types } }: Introspection): KeyingConfig {
  const objects = types.filter(({ kind }) => kind === 'OBJECT');
  const isRecord = ({ fields }: (typeof types)[number]) => fields?.some(({ name }) => name === 'ref');
  return Object.fromEntries(objects.map((type) => [type.name, isRecord(type) ? readRef : () => null]));
}

/** Without `ref`, a record is stored as part of its parent, and changes of it do not appear elsewhere. */
function readRef({ __typename, ref }: { __typename: string; ref?: unknown }): string | null {
  if (typeof ref === 'string') return ref;
  console.warn(`The cache needs the field \`ref\` of ${__typename}.`);
  return null;
}

const joinPages = relayPagination();

/** Appends the pages of a list to each other, and hides notifications whose status no longer matches the filter. */
const pages: Resolver = (parent, args, cache, info) => {
  // `relayPagination` ignores lists without arguments.
  if (Object.keys(args).length === 0) return cache.resolve(info.parentKey, info.fieldName);
  const page = cache.resolve(info.parentKey, info.fieldName, args);
  const joined = joinPages(parent, args, cache, info);
  if (!joined || typeof page !== 'string') return joined;
  const { statuses } = Object(args.filter);
  const isShown = (node: unknown) => {
    const status = typeof node === 'string' ? cache.resolve(node, 'status') : undefined;
    return !Array.isArray(statuses) || status === undefined || statuses.includes(status);
  };
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

type NotificationEvents = { notificationEvents: { notification: { __typename: string; ref: string } } };

/** Adds the notification of each event to the caller's lists whose filter it matches. */
const notificationEvents: UpdateResolver<NotificationEvents> = (
  { notificationEvents: { notification } },
  { userId },
  cache,
) => {
  const key = cache.keyOfEntity(notification);
  if (!key || userId) return;
  for (const parent of ['Query', cache.resolve('Query', 'viewer')]) {
    if (typeof parent !== 'string') continue;
    for (const { fieldName, arguments: args } of cache.inspectFields(parent)) {
      const page = fieldName === 'notifications' && cache.resolve(parent, fieldName, args);
      if (typeof page === 'string') addNotification(cache, page, Object(args?.filter), key);
    }
  }
};

/** Adds a notification to a page at the place of its creation, unless that place is on a page that was not loaded. */
function addNotification(cache: Cache, page: string, filter: object, key: string): void {
  const nodes = cache.resolve(page, 'nodes');
  const values = new Map([
    ['statuses', cache.resolve(key, 'status')],
    ['kinds', cache.resolve(key, 'kind')],
  ]);
  const matches = Object.entries(filter).every(
    ([name, allowed]) => allowed == null || (Array.isArray(allowed) && allowed.includes(values.get(name))),
  );
  if (!Array.isArray(nodes) || !matches || nodes.some((node) => node === key)) return;
  const createdAt = cache.resolve(key, 'createdAt');
  const isOlder = (node: unknown) => {
    const other = typeof node === 'string' ? cache.resolve(node, 'createdAt') : undefined;
    return typeof createdAt !== 'string' || typeof other !== 'string' || createdAt >= other;
  };
  const index = nodes.findIndex(isOlder);
  const pageInfo = cache.resolve(page, 'pageInfo');
  const hasNextPage = typeof pageInfo === 'string' && cache.resolve(pageInfo, 'hasNextPage');
  if (index === -1 && hasNextPage) return;
  const place = index === -1 ? nodes.length : index;
  cache.link(page, 'nodes', [...nodes.slice(0, place), key, ...nodes.slice(place)]);
}
