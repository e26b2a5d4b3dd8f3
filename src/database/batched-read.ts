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
  const queues = new WeakMap<Database, Map<string, ReadQueue<Item, Result>>>();

  return (database, item, selected, group = '') => {
    const bySelection = queues.get(database) ?? new Map<string, ReadQueue<Item, Result>>();
    queues.set(database, bySelection);
    const key = [group, ...(selected ?? ['all'])].join(' ');
    const queue =
      bySelection.get(key) ??
      new ReadQueue(
        (items) => readAll(database, items, selected),
        () => void bySelection.delete(key),
      );
    bySelection.set(key, queue);
    return queue.add(item);
  };
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

type Call<Item, Result> = { item: Item; resolve(result: Result): void; reject(error: unknown): void };

class ReadQueue<Item, Result> {
  readonly #readAll: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #onIdle: () => void;
  readonly #waiting: Call<Item, Result>[] = [];
  #running = 0;
  #isScheduled = false;

  constructor(readAll: (items: readonly Item[]) => Promise<readonly Result[]>, onIdle: () => void) {
    this.#readAll = readAll;
    this.#onIdle = onIdle;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isScheduled || this.#running === MAX_RUNNING) return;
      this.#isScheduled = true;
      setImmediate(() => {
        this.#isScheduled = false;
        this.#run();
      });
    });
  }

  #run(): void {
    while (this.#waiting.length > 0 && this.#running < MAX_RUNNING) {
      this.#running += 1;
      void this.#read(this.#waiting.splice(0, MAX_CALLS)).finally(() => {
        this.#running -= 1;
        if (this.#waiting.length > 0) this.#run();
        else if (this.#running === 0 && !this.#isScheduled) this.#onIdle();
      });
    }
  }

  async #read(calls: readonly Call<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#readAll(calls.map(({ item }) => item));
      for (const [index, call] of calls.entries()) {
        const result = results[index];
        if (result === undefined) call.reject(new Error('The batched read returned no result for an item.'));
        else call.resolve(result);
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
