import {
  type FieldFunctionOptions,
  type FieldPolicy,
  InMemoryCache,
  type PossibleTypesMap,
  type Reference,
  type StoreObject,
  type TypePolicies,
} from '@apollo/client';

type TypeRef = {
  readonly kind: string;
  readonly name?: string | null | undefined;
  readonly ofType?: TypeRef | null | undefined;
};
type Field = {
  readonly name: string;
  readonly args: readonly { readonly name: string }[];
  readonly type: TypeRef;
};

/** The result of an introspection query. */
export type Introspection = {
  readonly __schema: {
    readonly types: readonly {
      readonly kind: string;
      readonly name: string;
      readonly fields?: readonly Field[] | null | undefined;
      readonly possibleTypes?: readonly { readonly name: string }[] | null | undefined;
    }[];
  };
};

/** A list as it is stored: the argument `filter`, and the pages that were loaded. */
type List = {
  readonly filter?: unknown;
  readonly nodes?: readonly Reference[];
  readonly edges?: readonly StoreObject[];
  readonly pageInfo?: StoreObject;
};

/** Creates a cache that identifies records by `ref`, joins pages, and applies live events to lists of notifications. */
export function createApolloCache({ __schema: { types } }: Introspection): InMemoryCache {
  const possibleTypes: PossibleTypesMap = {};
  const typePolicies: TypePolicies = {};
  for (const { kind, name, fields, possibleTypes: members } of types) {
    if (members) possibleTypes[name] = members.map((member) => member.name);
    if (kind !== 'OBJECT' || !fields) continue;
    const isRecord = fields.some((field) => field.name === 'ref');
    typePolicies[name] = {
      // Other objects are stored as part of their record, even if they have an `id`.
      ...(isRecord ? { keyFields: ['ref'] } : { keyFields: false, merge: true }),
      fields: Object.fromEntries(fields.flatMap((field) => findPolicy(field) ?? [])),
    };
  }
  return new InMemoryCache({ possibleTypes, typePolicies });
}

function findPolicy({ name, args, type }: Field): [name: string, FieldPolicy][] | undefined {
  const { kind, name: typeName } = (type.kind === 'NON_NULL' ? type.ofType : type) ?? type;
  if (name === 'notificationEvents') return [[name, notificationEvents]];
  if (kind === 'LIST') return [[name, { merge: false }]];
  if (!typeName?.endsWith('Connection')) return undefined;
  const keyArgs = args.map((arg) => arg.name).filter((arg) => arg !== 'after');
  return [[name, { ...pages, keyArgs }]];
}

/** Appends the pages of a list to each other, and hides notifications whose status no longer matches the filter. */
const pages: FieldPolicy<List> = {
  merge(existing, incoming, { args, readField }) {
    const list = { ...existing, ...incoming, filter: args?.filter };
    if (!existing || !args?.after) return list;
    const { nodes, edges, pageInfo } = existing;
    const known = new Set(nodes?.map(({ __ref }) => __ref));
    const nodeOf = (edge: StoreObject) => readField<Reference>('node', edge)?.__ref;
    const knownEdges = new Set(edges?.map(nodeOf));
    return {
      ...list,
      ...(nodes && { nodes: [...nodes, ...(incoming.nodes ?? []).filter(({ __ref }) => !known.has(__ref))] }),
      ...(edges && {
        edges: [...edges, ...(incoming.edges ?? []).filter((it) => !knownEdges.has(nodeOf(it)))],
      }),
      ...(pageInfo && {
        pageInfo: {
          ...list.pageInfo,
          startCursor: readField('startCursor', pageInfo),
          hasPreviousPage: readField('hasPreviousPage', pageInfo),
        },
      }),
    };
  },
  read(list, { args, readField }) {
    const statuses: unknown = args?.filter?.statuses;
    if (!list || !Array.isArray(statuses)) return list;
    const isShown = (node: Reference | undefined) => {
      const status = node && readField('status', node);
      return status === undefined || statuses.includes(status);
    };
    const { nodes, edges } = list;
    return {
      ...list,
      ...(nodes && { nodes: nodes.filter(isShown) }),
      ...(edges && { edges: edges.filter((edge) => isShown(readField<Reference>('node', edge))) }),
    };
  },
};

/** Adds the notification of each event to the caller's lists whose filter it matches. */
const notificationEvents: FieldPolicy<StoreObject> = {
  keyArgs: false,
  merge(_existing, event, { args, cache, readField }) {
    const notification = readField<Reference>('notification', event);
    const viewer = readField<Reference>('viewer', { __ref: 'ROOT_QUERY' });
    if (!notification || args?.userId) return event;
    for (const id of viewer ? ['ROOT_QUERY', viewer.__ref] : ['ROOT_QUERY']) {
      cache.modify({
        id,
        fields: { notifications: (list) => addNotification(list, notification, readField) },
      });
    }
    return event;
  },
};

/** Adds a notification to a list at the place of its creation, unless that place is on a page that was not loaded. */
function addNotification(
  list: List,
  notification: Reference,
  readField: FieldFunctionOptions['readField'],
): List {
  const { nodes, filter, pageInfo } = list;
  const read = (name: string, node = notification) => readField<string>(name, node);
  const values = new Map([
    ['statuses', read('status')],
    ['kinds', read('kind')],
  ]);
  const matches = Object.entries(filter ?? {}).every(
    ([name, allowed]) => allowed == null || (Array.isArray(allowed) && allowed.includes(values.get(name))),
  );
  if (!nodes || !matches || nodes.some(({ __ref }) => __ref === notification.__ref)) return list;
  const createdAt = read('createdAt');
  const index = nodes.findIndex((node) => !createdAt || createdAt >= (read('createdAt', node) ?? ''));
  if (index >= 0) return { ...list, nodes: nodes.toSpliced(index, 0, notification) };
  return pageInfo && readField('hasNextPage', pageInfo) ? list : { ...list, nodes: [...nodes, notification] };
}
