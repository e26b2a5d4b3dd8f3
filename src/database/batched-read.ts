import DataLoader from 'dataloader';
import { LRUCache } from 'lru-cache';
import type { Database } from './database.ts';
import type { OfUsers } from './page.ts';

/** The maximum number of calls in one statement. */
const MAX_CALLS = 100;

/** Two statements run at once, so that the second is sent while PostgreSQL runs the first. */
const MAX_RUNNING = 2;

/** Reads for several items in one statement. Returns one result per item, in the order of the items. */
type ReadAll<Item, Result> = (
  database: Database,
  items: readonly Item[],
  selected: ReadonlySet<string> | undefined,
) => Promise<readonly Result[]>;

/**
 * Returns a function that reads one item, and combines concurrent calls. Calls made in one turn of the event loop
 * become one statement, up to 100 of them. While two statements are running, further calls wait and become the next one.
 * Calls that select different properties, or are of different groups, are not combined.
 */
export function defineBatchedRead<Item, Result>(
  readAll: ReadAll<Item, Result>,
): (database: Database, item: Item, selected?: ReadonlySet<string>, group?: string) => Promise<Result> {
  // By database, because calls on different databases cannot share a statement.
  const loaders = new WeakMap<Database, LRUCache<string, DataLoader<Item, Result>>>();

  return (database, item, selected, group = '') => {
    const bySelection =
      loaders.get(database) ?? new LRUCache<string, DataLoader<Item, Result>>({ max: MAX_LOADERS });
    loaders.set(database, bySelection);
    const key = [group, ...(selected ?? ['all'])].join(' ');
    const known = bySelection.get(key);
    if (known !== undefined) return known.load(item);
    const loader = createLoader<Item, Result>((items) => readAll(database, items, selected));
    bySelection.set(key, loader);
    return loader.load(item);
  };
}

/** The maximum number of selections and groups whose calls are being combined. */
const MAX_LOADERS = 1000;

function createLoader<Item, Result>(
  readAll: (items: readonly Item[]) => Promise<readonly Result[]>,
): DataLoader<Item, Result> {
  let running = 0;
  const waiting: (() => void)[] = [];
  const read = async (items: readonly Item[]) => {
    running += 1;
    try {
      return await readAll(items);
    } finally {
      running -= 1;
      waiting.shift()?.();
    }
  };
  return new DataLoader(read, {
    cache: false,
    maxBatchSize: MAX_CALLS,
    batchScheduleFn: (start) => void (running < MAX_RUNNING ? setImmediate(start) : waiting.push(start)),
  });
}

/** Defines the read of all rows of a user by an index. Concurrent calls for several users become one statement. */
export function defineRowsOfUserRead<Row extends { userId: string }>(
  readAll: (database: Database, input: OfUsers) => Promise<Row[]>,
) {
  return defineBatchedRead<string, Row[]>(async (database, users) => {
    const rows = Map.groupBy(await readAll(database, { users }), ({ userId }) => userId);
    return users.map((user) => rows.get(user) ?? []);
  });
}

/** What a user's list is read by, besides the user. */
type ListOf<Query> = { userId: string; query: Query };

/**
 * Defines a read of users' lists. Concurrent calls with equal queries become one statement.
 * @param readAll returns rows of several users, in the order of each user's list
 */
export function defineListsOfUsersRead<Query, Row extends { owner: string }>(
  readAll: (
    database: Database,
    users: readonly string[],
    query: Query,
    selected: ReadonlySet<string> | undefined,
  ) => Promise<Row[]>,
) {
  const read = defineBatchedRead<ListOf<Query>, Row[]>(async (database, items, selected) => {
    const [first] = items;
    if (first === undefined) return [];
    const users = [...new Set(items.map(({ userId }) => userId))];
    const rows = Map.groupBy(await readAll(database, users, first.query, selected), ({ owner }) => owner);
    return items.map(({ userId }) => rows.get(userId) ?? []);
  });
  // Only equal queries are combined, so that the failure of one is not that of others.
  return (database: Database, item: ListOf<Query>, selected?: ReadonlySet<string>) =>
    read(database, item, selected, JSON.stringify(item.query));
}
