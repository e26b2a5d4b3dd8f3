/** What lists are sorted by: the time of creation, then the ID, newest first. */
export type Position = { readonly createdAt: string; readonly id: string };

/**
 * A record, or null after its deletion. `arrival` counts what the client has received, so that a reply can be compared
 * with what arrived since its request was sent.
 */
type Entry<Item> = {
  readonly item: Item | null;
  readonly arrival: number;
  /** The latest state that an event brought, if a reply brought a later one. */
  readonly followed?: Item | undefined;
};

/** How far a list is loaded. Its records are those of the collection that match its filter, down to `end`. */
export type Extent<Filter> = {
  readonly filter: Filter;
  /** The last loaded record; undefined if all are loaded. */
  readonly end: Position | undefined;
  /** Continues after the last loaded page. */
  readonly endCursor: string | null;
};

/** Records of one type, and the lists that are loaded of them. */
export type Collection<Item, Filter> = {
  readonly entries: ReadonlyMap<string, Entry<Item>>;
  readonly lists: ReadonlyMap<string, Extent<Filter>>;
};

/** How records of a type are compared. */
export type Rules<Item, Filter> = {
  matches(filter: Filter, item: Item): boolean;
  /** Whether the first is an earlier state of the same record than the second. */
  isOlder(one: Item, other: Item): boolean;
};

/** A page of a list, as the gateway returns it. */
export type Page<Item> = {
  readonly nodes: readonly Item[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
};

/** The arrival of what any reply or event replaces. */
export const FORGOTTEN = -1;

/** The maximum number of unused records that are kept, so that they are shown at once when the user returns to them. */
export const MAX_UNUSED = 200;

export const emptyCollection = { entries: new Map(), lists: new Map() };

/** Compares positions as lists sort them. The gateway compares the bytes of IDs, which differs only for rare characters. */
function comparePositions(one: Position, other: Position): number {
  if (one.createdAt !== other.createdAt) return one.createdAt > other.createdAt ? -1 : 1;
  return one.id === other.id ? 0 : one.id > other.id ? -1 : 1;
}

const isWithin = (position: Position, end: Position | undefined) =>
  end === undefined || comparePositions(position, end) <= 0;

/** Stores the state of a record, or null after its deletion, unless it is older than the stored one. */
export function putItem<Item, Filter>(
  collection: Collection<Item, Filter>,
  { isOlder }: Rules<Item, Filter>,
  id: string,
  item: Item | null,
  arrival: number,
): Collection<Item, Filter> {
  const stored = collection.entries.get(id);
  const isComparable = item !== null && stored?.item != null && stored.arrival !== FORGOTTEN;
  const isLate = isComparable && isOlder(item, stored.item);
  if (isLate && stored.followed === undefined) return collection;
  const entry = isLate ? { ...stored, followed: item } : { item, arrival };
  return { ...collection, entries: new Map(collection.entries).set(id, entry) };
}

/** Stores the state of a record that a reply brought before the events of its change, unless it is older. */
export function putAhead<Item, Filter>(
  collection: Collection<Item, Filter>,
  rules: Rules<Item, Filter>,
  id: string,
  item: Item,
  arrival: number,
): Collection<Item, Filter> {
  const stored = collection.entries.get(id);
  const { entries } = putItem(collection, rules, id, item, arrival);
  // If it is the stored state, its event was first. What is known from before a gap is replaced without one.
  const isAhead = stored?.item != null && stored.arrival !== FORGOTTEN && rules.isOlder(stored.item, item);
  const followed = stored?.followed ?? (isAhead ? stored.item : undefined);
  const entry = entries.get(id);
  if (entry === undefined || followed === undefined) return { ...collection, entries };
  return { ...collection, entries: new Map(entries).set(id, { ...entry, followed }) };
}

/** Returns the records of which a reply brought a later state than events, in the latest states that events brought. */
export function selectFollowed<Item, Filter>(collection: Collection<Item, Filter>): Collection<Item, Filter> {
  const entries = [...collection.entries].flatMap(([id, { followed, arrival }]) =>
    followed === undefined ? [] : [[id, { item: followed, arrival }] as const],
  );
  return { ...collection, entries: new Map(entries) };
}

/**
 * Stores a page that was requested when `since` things had arrived: the first one of a list, or the one after `after`.
 * Whatever arrived later stays, unless the page has a later state of it. Other records in the range of the page that match
 * its filter are removed, because the gateway has them no longer.
 */
export function putPage<Item extends Position, Filter>(
  collection: Collection<Item, Filter>,
  rules: Rules<Item, Filter>,
  list: { readonly key: string; readonly filter: Filter; readonly after?: Position | undefined },
  { nodes, pageInfo }: Page<Item>,
  { since, arrival }: { readonly since: number; readonly arrival: number },
): Collection<Item, Filter> {
  const { key, filter, after } = list;
  const end = pageInfo.hasNextPage ? (nodes.at(-1) ?? after) : undefined;
  const entries = new Map(collection.entries);
  for (const [id, entry] of entries) {
    const { item } = entry;
    if (item === null || entry.arrival > since || !rules.matches(filter, item)) continue;
    if (isWithin(item, end) && !(after !== undefined && isWithin(item, after))) entries.delete(id);
  }
  for (const node of nodes) {
    const stored = entries.get(node.id);
    const isKept =
      stored !== undefined &&
      stored.arrival > since &&
      (stored.item === null || rules.isOlder(node, stored.item));
    if (!isKept) entries.set(node.id, { item: node, arrival });
  }
  const extent = {
    filter,
    end: end && { createdAt: end.createdAt, id: end.id },
    endCursor: pageInfo.hasNextPage ? pageInfo.endCursor : null,
  };
  return { entries, lists: new Map(collection.lists).set(key, extent) };
}

/** Lets any reply or event replace the records. */
export function forgetEntries<Item, Filter>(collection: Collection<Item, Filter>): Collection<Item, Filter> {
  const entries = [...collection.entries].map(
    ([id, { item }]) => [id, { item, arrival: FORGOTTEN }] as const,
  );
  return { ...collection, entries: new Map(entries) };
}

/**
 * Deletes the unused records, except for the `kept` that arrived last, and the unused lists that contained a deleted one.
 */
export function dropUnused<Item extends Position, Filter>(
  collection: Collection<Item, Filter>,
  rules: Rules<Item, Filter>,
  isUsed: { list(key: string): boolean; record(id: string): boolean },
  kept: number,
): Collection<Item, Filter> {
  const lists = [...collection.lists];
  const used = lists.filter(([key]) => isUsed.list(key));
  const unused = [...collection.entries].filter(
    ([id, { item }]) => !isUsed.record(id) && !used.some(([, extent]) => isListed(item, extent, rules)),
  );
  if (unused.length <= kept) return collection;
  const dropped = unused.sort(([, one], [, other]) => other.arrival - one.arrival).slice(kept);
  const entries = new Map(collection.entries);
  for (const [id] of dropped) entries.delete(id);
  const isWhole = (extent: Extent<Filter>) => !dropped.some(([, { item }]) => isListed(item, extent, rules));
  return { entries, lists: new Map(lists.filter(([, extent]) => isWhole(extent))) };
}

/** Whether a loaded list shows a record. */
function isListed<Item extends Position, Filter>(
  item: Item | null,
  { filter, end }: Extent<Filter>,
  { matches }: Rules<Item, Filter>,
): item is Item {
  return item !== null && isWithin(item, end) && matches(filter, item);
}

/** Whether a record arrived after the last gap, so that events have brought all its changes since. */
export function isFollowed<Item, Filter>({ entries }: Collection<Item, Filter>, id: string): boolean {
  const entry = entries.get(id);
  return entry !== undefined && entry.arrival !== FORGOTTEN;
}

/** Returns the loaded records of a list, newest first; undefined if none was loaded. */
export function selectList<Item extends Position, Filter>(
  { entries, lists }: Collection<Item, Filter>,
  rules: Rules<Item, Filter>,
  key: string,
): readonly Item[] | undefined {
  const extent = lists.get(key);
  if (extent === undefined) return undefined;
  const items: Item[] = [];
  for (const { item } of entries.values()) {
    if (isListed(item, extent, rules)) items.push(item);
  }
  return items.sort(comparePositions);
}
