import type {
  FieldFunctionOptions,
  FieldPolicy,
  InMemoryCacheConfig,
  Reference,
  StoreObject,
  TypePolicies,
} from '@apollo/client';
import { findPlace, matchesFilter } from './cached-list.ts';
import { connections, lists, partTypes, possibleTypes, recordTypes } from './generated/object-types.ts';

/** A list as it is stored: the argument `filter`, and the pages that were loaded. */
type List = {
  readonly filter?: unknown;
  readonly nodes?: readonly Reference[];
  readonly edges?: readonly StoreObject[];
  readonly pageInfo?: StoreObject;
};

type Read = FieldFunctionOptions['readField'];

/** Appends the pages of a list to each other, and hides records that no longer match its filter. */
const pages: FieldPolicy<List> = {
  merge(existing, incoming, { args, readField }) {
    const { filter, after } = args ?? {};
    const list = { ...existing, ...incoming, filter };
    if (!existing || !after) return list;
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
    const { filter } = args ?? {};
    if (!list || !filter) return list;
    const isShown = (node: Reference | undefined) =>
      node === undefined || matchesFilter(filter, readFrom(node, readField), true);
    const { nodes, edges } = list;
    return {
      ...list,
      ...(nodes && { nodes: nodes.filter(isShown) }),
      ...(edges && { edges: edges.filter((edge) => isShown(readField<Reference>('node', edge))) }),
    };
  },
};

function readFrom(record: Reference, readField: Read) {
  return (...[name, member]: readonly [string, ...string[]]): unknown => {
    const value = readField<StoreObject>(name, record);
    return member === undefined || !value ? value : readField(member, value);
  };
}

/** Changes the lists of the caller: those of the query itself and of its `viewer`. */
function changeLists(
  field: 'notifications' | 'workspaces',
  { cache, readField }: FieldFunctionOptions,
  change: (list: List) => List,
): void {
  const viewer = readField<Reference>('viewer', { __ref: 'ROOT_QUERY' });
  for (const id of viewer ? ['ROOT_QUERY', viewer.__ref] : ['ROOT_QUERY']) {
    cache.modify({ id, fields: (value, { fieldName }) => (fieldName === field ? change(value) : value) });
  }
}

/** Adds a record to a list at the place of its creation, unless that place is on a page that was not loaded. */
function addRecord(list: List, record: Reference, readField: Read): List {
  const { nodes, filter, pageInfo } = list;
  if (!nodes || nodes.some(({ __ref }) => __ref === record.__ref)) return list;
  if (!matchesFilter(filter, readFrom(record, readField), false)) return list;
  const [createdAt, ...others] = [record, ...nodes].map((node) => readField('createdAt', node));
  const hasNextPage = pageInfo !== undefined && readField('hasNextPage', pageInfo) === true;
  const place = findPlace(createdAt, others, hasNextPage);
  return place === undefined ? list : { ...list, nodes: nodes.toSpliced(place, 0, record) };
}

/** Removes a record from a list by its ID. */
function removeRecord(list: List, removedId: unknown, readField: Read): List {
  const isKept = (node: Reference | undefined) => !node || readField('id', node) !== removedId;
  const { nodes, edges } = list;
  return {
    ...list,
    ...(nodes && { nodes: nodes.filter(isKept) }),
    ...(edges && { edges: edges.filter((edge) => isKept(readField<Reference>('node', edge))) }),
  };
}

/** Applies an event, or its `content`, to the lists of the caller. */
function applyEvent(event: StoreObject, options: FieldFunctionOptions): void {
  const { args, readField } = options;
  const { userId } = args ?? {};
  if (userId) return;
  const notification = readField<Reference>('notification', event);
  const workspace = readField<Reference | null>('workspace', event);
  const workspaceId = readField('workspaceId', event);
  if (notification) changeLists('notifications', options, (list) => addRecord(list, notification, readField));
  if (workspace) changeLists('workspaces', options, (list) => addRecord(list, workspace, readField));
  if (workspace === null)
    changeLists('workspaces', options, (list) => removeRecord(list, workspaceId, readField));
}

const events: FieldPolicy<StoreObject> = {
  keyArgs: false,
  merge(_existing, event, options) {
    applyEvent(options.readField<StoreObject>('content', event) ?? event, options);
    return event;
  },
};

/** The policies of all types. Records are identified by `ref`; other objects are stored as part of their record. */
function createTypePolicies(): TypePolicies {
  const policies: TypePolicies = {};
  for (const name of recordTypes) policies[name] = { keyFields: ['ref'] };
  for (const name of partTypes) policies[name] = { keyFields: false, merge: true };
  const addFields = (name: string, fields: Record<string, FieldPolicy>) => {
    policies[name] = { ...policies[name], fields: { ...policies[name]?.fields, ...fields } };
  };
  for (const [name, fields] of Object.entries(lists))
    addFields(name, Object.fromEntries(fields.map((field) => [field, { merge: false }])));
  for (const [name, fields] of Object.entries(connections)) {
    for (const [field, args] of Object.entries(fields))
      addFields(name, { [field]: { ...pages, keyArgs: args.filter((arg) => arg !== 'after') } });
  }
  addFields('Subscription', { accountEvents: events, notificationEvents: events, workspaceEvents: events });
  return policies;
}

/**
 * The options of an `InMemoryCache` that identifies records by `ref`, joins the pages of lists, and applies live events to
 * them.
 */
export const apolloCacheOptions: Required<Pick<InMemoryCacheConfig, 'possibleTypes' | 'typePolicies'>> = {
  possibleTypes,
  typePolicies: createTypePolicies(),
};
