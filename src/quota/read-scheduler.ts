/** The maximum number of reads that run at once for one caller. */
const MAX_CONCURRENT_READS = 4;

/**
 * Limits the concurrent reads of each caller, and its long lists to one at a time, so that a caller who keeps requesting
 * them cannot occupy the event loop or the connections to the database.
 */
export class ReadScheduler {
  readonly #reads = new KeyedSemaphore(MAX_CONCURRENT_READS);
  readonly #lists = new KeyedSemaphore(1);

  /** Runs `read` when the limit allows, and returns its result. */
  run<Result>(callerId: string, read: () => Result | Promise<Result>): Promise<Result> {
    return this.#reads.run(callerId, read);
  }

  /** Reads and sends a long list when the caller's other long lists are sent. Its reads also count as reads. */
  runList(callerId: string, send: () => Promise<void>): Promise<void> {
    return this.#lists.run(callerId, send);
  }
}

/** Runs a limited number of concurrent tasks per key; further tasks wait in order. */
export class KeyedSemaphore {
  readonly #limit: number;
  readonly #queues = new Map<string, Queue>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a task when a slot is free. */
  async run<Result>(key: string, task: () => Result | Promise<Result>): Promise<Result> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.running < this.#limit) queue.running += 1;
    else await new Promise<void>((proceed) => queue.waiting.push(proceed));
    try {
      return await task();
    } finally {
      // The slot passes to the next waiting task, so that later tasks cannot overtake it.
      const next = queue.waiting.shift();
      if (next !== undefined) next();
      else if (queue.running > 1) queue.running -= 1;
      else this.#queues.delete(key);
    }
  }
}

type Queue = { running: number; readonly waiting: (() => void)[] };
