import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { KeyedSemaphore } from './read-scheduler.ts';

/** The maximum size of the long texts that the lists of an operation read, all together. */
export const MAX_READ_BYTES = 16 * 1024 * 1024;

/** How much the large replies of all callers may take at once. */
const MAX_TOTAL_BYTES = 2 * MAX_READ_BYTES;

/** Callers who do not read their replies can occupy all of it, so others wait only for a time. */
const MAX_WAIT_MS = 1000;

/** Garbage takes up to three times as much memory as the texts. */
const MAX_UNCOLLECTED_BYTES = 2 * MAX_READ_BYTES;

/** The large replies that a request waits for. */
export type LargeRead = {
  /** Waits until so many bytes can be read, and returns whether they can. */
  take(bytes: number): Promise<boolean>;
};

/** Calls `leave` when the reply was sent or the caller disconnected. */
type OnLeave = (leave: () => void) => void;

/**
 * Limits the memory of large replies, from reading until they are sent. A caller has at most one, and further requests
 * of the caller wait for it. All callers together have at most 32 MiB; what exceeds it waits for up to a second.
 */
export class LargeReads {
  readonly #callers = new KeyedSemaphore(1);
  readonly #waiting: Waiting[] = [];
  #freeBytes = MAX_TOTAL_BYTES;
  #uncollectedBytes = 0;

  /** Waits until the caller's other large replies are sent. */
  admit(callerId: string, onLeave: OnLeave): Promise<LargeRead> {
    const { promise, resolve } = Promise.withResolvers<LargeRead>();
    const left = new Promise<void>(onLeave);
    void this.#callers.run(callerId, async () => {
      let requested = 0;
      let taken = 0;
      let hasLeft = false;
      void left.then(() => {
        hasLeft = true;
      });
      // One record of each list is read in any case, which may be more than the maximum.
      const take = async (bytes: number) => {
        const charged = Math.min(bytes, MAX_READ_BYTES - requested);
        requested += charged;
        if (hasLeft || !(await this.#take(charged))) {
          requested -= charged;
          return false;
        }
        if (hasLeft) this.#give(charged);
        else taken += charged;
        return !hasLeft;
      };
      resolve({ take });
      await left;
      this.#give(taken);
      this.#collect(taken);
    });
    return promise;
  }

  /** Collects garbage after some large replies. Otherwise, V8 lets the heap grow by about 500 MiB first. */
  #collect(bytes: number): void {
    this.#uncollectedBytes += bytes;
    if (this.#uncollectedBytes < MAX_UNCOLLECTED_BYTES) return;
    this.#uncollectedBytes = 0;
    setFlagsFromString('--expose-gc');
    const collect: unknown = runInNewContext('gc');
    if (typeof collect === 'function') collect({ type: 'major', execution: 'async' });
  }

  async #take(bytes: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const waiting = { bytes, resolve };
    this.#waiting.push(waiting);
    this.#give(0);
    const timeout = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      resolve(false);
      this.#give(0);
    }, MAX_WAIT_MS);
    const isTaken = await promise;
    clearTimeout(timeout);
    return isTaken;
  }

  #give(bytes: number): void {
    this.#freeBytes += bytes;
    for (let next = this.#waiting[0]; next && next.bytes <= this.#freeBytes; next = this.#waiting[0]) {
      this.#waiting.shift();
      this.#freeBytes -= next.bytes;
      next.resolve(true);
    }
  }
}

type Waiting = { readonly bytes: number; resolve(isTaken: boolean): void };
