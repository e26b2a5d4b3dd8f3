import type { Context } from '../context.ts';
import { KeyedSemaphore } from './read-scheduler.ts';

/** The maximum size of the long texts that the lists of an operation read, all together. */
export const MAX_READ_BYTES = 16 * 1024 * 1024;

/** How much the large replies of all callers may take at once. */
const MAX_TOTAL_BYTES = 2 * MAX_READ_BYTES;

/** Callers who do not read their replies can occupy all of it, so others wait only for a time. */
const MAX_WAIT_MS = 1000;

/** Permission for a request to read more than a little. */
export type LargeRead = {
  /** If false, too many large replies of other callers are being sent, and each list should return as little as it can. */
  readonly isAdmitted: boolean;
  /** Replaces the reserved size by that of the reply. */
  setReplyBytes(bytes: number): void;
};

/** Calls `leave` when the reply was sent or the caller disconnected. */
type OnLeave = (leave: () => void) => void;

/**
 * Limits the memory of large replies, from reading until they are sent. A caller has at most one, and further requests
 * of the caller wait for it. All callers together have at most 32 MiB; requests beyond it wait for up to a second.
 */
export class LargeReads {
  readonly #callers = new KeyedSemaphore(1);
  readonly #waiting: ((isAdmitted: boolean) => void)[] = [];
  #freeBytes = MAX_TOTAL_BYTES;

  /** Waits until a request may read up to {@link MAX_READ_BYTES}. */
  admit(callerId: string, onLeave: OnLeave): Promise<LargeRead> {
    const { promise, resolve } = Promise.withResolvers<LargeRead>();
    const left = new Promise<'left'>((leave) => onLeave(() => leave('left')));
    void this.#callers.run(callerId, async () => {
      const hasLeft = (await Promise.race([left, undefined])) === 'left';
      const isAdmitted = !hasLeft && (await this.#take());
      let reserved = isAdmitted ? MAX_READ_BYTES : 0;
      const setReplyBytes = (bytes: number) => {
        this.#give(reserved - bytes);
        reserved = bytes;
      };
      resolve({ isAdmitted, setReplyBytes });
      await left;
      setReplyBytes(0);
    });
    return promise;
  }

  async #take(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#waiting.push(resolve);
    this.#give(0);
    const timeout = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(resolve), 1);
      resolve(false);
    }, MAX_WAIT_MS);
    const isAdmitted = await promise;
    clearTimeout(timeout);
    return isAdmitted;
  }

  #give(bytes: number): void {
    this.#freeBytes += bytes;
    while (this.#freeBytes >= MAX_READ_BYTES && this.#waiting.length > 0) {
      this.#freeBytes -= MAX_READ_BYTES;
      this.#waiting.shift()?.(true);
    }
  }
}

/** Waits until the request of a context may have a large reply, and returns whether it should. */
export async function admitLargeReply(context: Context): Promise<boolean> {
  const { largeReads, viewer, onLeave } = context;
  context.largeRead ??= largeReads.admit(viewer.userId, onLeave);
  const { isAdmitted } = await context.largeRead;
  return isAdmitted;
}

/** Does the same within a read of the account, which meanwhile does not keep the caller's other reads from running. */
export function admitLargeRead(context: Context): Promise<boolean> {
  return context.readScheduler.suspend(context.viewer.userId, () => admitLargeReply(context));
}
