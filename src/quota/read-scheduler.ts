import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '../database/page.ts';
import { LONG_LIST, mayBeLong } from '../database/read.ts';

/** Maximum number of reads that run at once for one caller. */
const MAX_CONCURRENT_READS = 4;

/**
 * The pause after a long list, as a multiple of its reading time. Serializing takes about three times as long as
 * reading, and happens within the pause. After 10 ms of reading, the pause takes 200 ms, and serializing takes 30 ms of
 * it, so the caller occupies the event loop for 40 of 210 ms.
 */
const PAUSE_FACTOR = 20;

/** Caps the pause, because the time includes waiting for a connection, and is longer on a busy machine. */
const MAX_PAUSE_MS = 1000;

/**
 * Limits the concurrent reads of each caller, and runs their long lists one at a time with pauses, so that a caller who
 * keeps requesting long lists cannot occupy the event loop.
 */
export class ReadScheduler {
  readonly #reads = new KeyedSemaphore(MAX_CONCURRENT_READS);
  readonly #lists = new KeyedSemaphore(1);

  /** Runs `read` when the limits allow, and returns its result. `restPage` is the page of a REST list. */
  run<Result>(callerId: string, read: () => Result | Promise<Result>, restPage?: Page): Promise<Result> {
    if (restPage === undefined || !mayBeLong(restPage)) return this.#reads.run(callerId, read);
    return this.#lists.run(callerId, async (releaseAfter) => {
      let startedAt = 0;
      const result = await this.#reads.run(callerId, () => {
        startedAt = performance.now();
        return read();
      });
      const pauseMs = Math.min(PAUSE_FACTOR * (performance.now() - startedAt), MAX_PAUSE_MS);
      if (countRecords(result) > LONG_LIST) releaseAfter(pauseMs);
      return result;
    });
  }
}

/** Runs a limited number of concurrent tasks per key; further tasks wait in order. */
export class KeyedSemaphore {
  readonly #limit: number;
  readonly #queues = new Map<string, Queue>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Runs a task when a slot is free. The task can delay the release of its slot with `releaseAfter`. */
  async run<Result>(
    key: string,
    task: (releaseAfter: (ms: number) => void) => Result | Promise<Result>,
  ): Promise<Result> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.running < this.#limit) queue.running += 1;
    else await new Promise<void>((proceed) => queue.waiting.push(proceed));
    let delayMs = 0;
    try {
      return await task((ms) => {
        delayMs = ms;
      });
    } finally {
      if (delayMs === 0) this.#release(key, queue);
      else void pause(delayMs, undefined, { ref: false }).then(() => this.#release(key, queue));
    }
  }

  /** Passes the slot to the next waiting task, so that later tasks cannot overtake it. */
  #release(key: string, queue: Queue): void {
    const next = queue.waiting.shift();
    if (next === undefined) queue.running -= 1;
    else next();
    if (queue.running === 0) this.#queues.delete(key);
  }
}

type Queue = { running: number; readonly waiting: (() => void)[] };

function countRecords(result: unknown): number {
  const isConnection = typeof result === 'object' && result !== null && 'nodes' in result;
  return isConnection && Array.isArray(result.nodes) ? result.nodes.length : 0;
}
