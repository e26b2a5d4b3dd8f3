import type { EntityManager } from './database.ts';

/** Calls that run together at most. */
const TOGETHER = 100;

/** Batches of one kind that run at once: the second is sent while PostgreSQL works on the first. */
const AT_ONCE = 2;

/** Reads for all calls together; the results are in the order of the items. */
type ReadAll<Item, Result> = (
  em: EntityManager,
  items: readonly Item[],
  reads: ReadonlySet<string> | undefined,
) => Promise<readonly Result[]>;

/**
 * Runs calls together that come in one turn of the event loop, or while earlier ones run: one statement for many
 * subscribers. Calls that read other properties are another statement.
 */
export function batched<Item, Result>(
  readAll: ReadAll<Item, Result>,
): (em: EntityManager, item: Item, reads?: ReadonlySet<string>) => Promise<Result> {
  const batches = new WeakMap<EntityManager, Map<string, Batch<Item, Result>>>();

  return (em, item, reads) => {
    const own = batches.get(em) ?? new Map<string, Batch<Item, Result>>();
    batches.set(em, own);
    const key = reads === undefined ? 'all' : [...reads].join(' ');
    const batch =
      own.get(key) ??
      new Batch(
        (items) => readAll(em, items, reads),
        () => void own.delete(key),
      );
    own.set(key, batch);
    return batch.add(item);
  };
}

type Call<Item, Result> = { item: Item; resolve(result: Result): void; reject(error: unknown): void };

class Batch<Item, Result> {
  readonly #readAll: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #onIdle: () => void;
  readonly #waiting: Call<Item, Result>[] = [];
  #running = 0;
  #isDue = false;

  constructor(readAll: (items: readonly Item[]) => Promise<readonly Result[]>, onIdle: () => void) {
    this.#readAll = readAll;
    this.#onIdle = onIdle;
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (this.#isDue || this.#running === AT_ONCE) return;
      this.#isDue = true;
      setImmediate(() => {
        this.#isDue = false;
        this.#run();
      });
    });
  }

  #run(): void {
    while (this.#waiting.length > 0 && this.#running < AT_ONCE) {
      this.#running += 1;
      void this.#read(this.#waiting.splice(0, TOGETHER)).finally(() => {
        this.#running -= 1;
        if (this.#waiting.length > 0) this.#run();
        else if (this.#running === 0 && !this.#isDue) this.#onIdle();
      });
    }
  }

  async #read(calls: readonly Call<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#readAll(calls.map(({ item }) => item));
      for (const [index, call] of calls.entries()) {
        const result = results[index];
        if (result === undefined) call.reject(new Error('A call of a batch has no result.'));
        else call.resolve(result);
      }
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  }
}
