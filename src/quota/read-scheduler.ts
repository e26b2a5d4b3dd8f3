import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '../database/page.ts';
import { mayBeLong } from '../database/read.ts';
import type { Position } from '../values/cursor.ts';

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

/** A list that the REST API returns. It is read and sent in parts, so that memory does not grow with its length. */
export type RestList = {
  /** The requested page without the parts that were read before. */
  page: Page;
  /** Whether `page` continues a list. */
  isContinued: boolean;
  /** The entity tag of the whole list, set when its first part is read. */
  etag: string;
  /** What remains after the part that was read; `undefined` if nothing does. */
  next: Page | undefined;
  /** The position of the last record of the requested page, if its limit cut the list; `undefined` otherwise. */
  end: Position | undefined;
  /** The time that reading took, in milliseconds. */
  readMs: number;
};

/**
 * Limits the concurrent reads of each caller, and returns their long lists one at a time with pauses, so that a caller
 * who keeps requesting long lists cannot occupy the event loop.
 */
export class ReadScheduler {
  readonly #reads = new KeyedSemaphore(MAX_CONCURRENT_READS);
  readonly #lists = new KeyedSemaphore(1);

  /** Runs `read` when the limit allows, and returns its result. */
  run<Result>(callerId: string, read: () => Result | Promise<Result>): Promise<Result> {
    return this.#reads.run(callerId, read);
  }

  /**
   * Runs `read` for a part of a list, and returns its result. If the list may be long, the caller's other long lists wait
   * until it is sent, for which `onLeave` is called.
   */
  async runPart<Result>(
    callerId: string,
    list: RestList,
    read: () => Result | Promise<Result>,
    onLeave: (leave: () => void) => void,
  ): Promise<Result> {
    const readTimed = async () => {
      const startedAt = performance.now();
      const result = await read();
      list.readMs += performance.now() - startedAt;
      return result;
    };
    if (list.isContinued || !mayBeLong(list.page)) return this.run(callerId, readTimed);
    const { promise, resolve } = Promise.withResolvers<Promise<Result>>();
    void this.#lists.run(callerId, async (releaseAfter) => {
      const result = this.run(callerId, readTimed);
      resolve(result);
      await Promise.allSettled([result]);
      if (list.next === undefined) return;
      await new Promise<void>(onLeave);
      releaseAfter(Math.min(PAUSE_FACTOR * list.readMs, MAX_PAUSE_MS));
    });
    return await promise;
  }

  /** Runs `wait` in the middle of a read, which meanwhile does not count as running. */
  suspend<Result>(callerId: string, wait: () => Promise<Result>): Promise<Result> {
    return this.#reads.suspend(callerId, wait);
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
    await this.#acquire(key);
    let delayMs = 0;
    try {
      return await task((ms) => {
        delayMs = ms;
      });
    } finally {
      if (delayMs === 0) this.#release(key);
      else void pause(delayMs, undefined, { ref: false }).then(() => this.#release(key));
    }
  }

  /** Gives up the slot of a running task until `wait` has ended and a slot is free again. */
  async suspend<Result>(key: string, wait: () => Promise<Result>): Promise<Result> {
    this.#release(key);
    try {
      return await wait();
    } finally {
      await this.#acquire(key);
    }
  }

  async #acquire(key: string): Promise<void> {
    const queue = this.#queues.get(key) ?? { running: 0, waiting: [] };
    this.#queues.set(key, queue);
    if (queue.running < this.#limit) queue.running += 1;
    else await new Promise<void>((proceed) => queue.waiting.push(proceed));
  }

  /** Passes the slot to the next waiting task, so that later tasks cannot overtake it. */
  #release(key: string): void {
    const queue = this.#queues.get(key);
    if (queue === undefined) throw new Error('A task released its slot twice.');
    const next = queue.waiting.shift();
    if (next === undefined) queue.running -= 1;
    else next();
    if (queue.running === 0) this.#queues.delete(key);
  }
}

type Queue = { running: number; readonly waiting: (() => void)[] };
