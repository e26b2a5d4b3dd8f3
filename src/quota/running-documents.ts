import { setImmediate as nextTurn } from 'node:timers/promises';

/** A document that costs at most this much is not counted. Its reply has less than half a megabyte. */
export const FREE_COST = 400;

/**
 * What the documents of each kind of one caller may cost that run at once, unless it is a single one. A document that
 * costs more is large. A page of 40 notifications with all fields is not.
 */
const MAX_CALLER_COST = 8000;

/**
 * A document that costs at most this much is small: it is formatted at once. A page of 20 notifications with all fields
 * of their payloads is.
 */
const MAX_SMALL_COST = 4000;

/** What the large documents of all callers may cost together: one that costs as much as a document may. */
const MAX_LARGE_COST = 25_000;

/** What the small ones, or the others, may cost together. Ten callers who read no reply leave room for further ones. */
const MAX_OTHER_COST = 100_000;

/** The number of small documents that read and format at once: as many as share a write to PostgreSQL. */
const MAX_SMALL_READING = 8;

/** How long a document waits. */
const MAX_WAIT_MS = 10_000;

/** Calls `leave` when the reply was sent or the caller disconnected, or immediately if that has happened. */
type OnLeave = (leave: () => void) => void;

/** A document that may run. */
export type RunningDocument = {
  /** Returns the JSON of the reply, which ends the reading. Other requests run between the root fields of a long one. */
  format(reply: Reply): string | Promise<string>;
};

type Reply = { errors?: unknown; data?: object | null | undefined };

/**
 * Limits what the documents cost whose records and replies are in memory at once. A document counts until its reply is
 * sent. Further ones wait in turn. Small documents, large ones and the others take turns among themselves, so that they
 * delay none of another kind. Those that are not small also read and format one at a time. A few small ones read together:
 * alone, each would wake the gateway and PostgreSQL for itself, which doubles what it costs.
 */
export class RunningDocuments {
  readonly #large = new CostSemaphore(MAX_LARGE_COST, 1);
  readonly #small = new CostSemaphore(MAX_OTHER_COST, MAX_SMALL_READING);
  readonly #others = new CostSemaphore(MAX_OTHER_COST, 1);
  #turn = Promise.resolve();

  /** Waits until a document may run. Returns `undefined` if it has waited too long or its caller has left. */
  async admit(callerId: string, cost: number, onLeave: OnLeave): Promise<RunningDocument | undefined> {
    const endReading = await this.#semaphoreFor(cost).acquire(callerId, cost, onLeave);
    if (endReading === undefined) return undefined;
    return {
      format: (reply) => {
        if (cost > MAX_SMALL_COST) return this.#formatInTurns(reply).finally(endReading);
        endReading();
        return JSON.stringify(reply);
      },
    };
  }

  #semaphoreFor(cost: number): CostSemaphore {
    if (cost > MAX_CALLER_COST) return this.#large;
    return cost > MAX_SMALL_COST ? this.#others : this.#small;
  }

  /**
   * Formats one root field of one reply in each turn of the event loop. Concatenated strings are copied once, when the
   * reply is sent.
   */
  async #formatInTurns({ errors, data }: Reply): Promise<string> {
    let text = `{${errors === undefined ? '' : `"errors":${JSON.stringify(errors)},`}"data":{`;
    let separator = '';
    for (const [name, value] of Object.entries(data ?? {})) {
      this.#turn = this.#turn.then(() => nextTurn());
      await this.#turn;
      text += `${separator}${JSON.stringify(name)}:${JSON.stringify(value)}`;
      separator = ',';
    }
    return `${text}}}`;
  }
}

type Waiting = { readonly callerId: string; readonly cost: number; start(): void };

/** Limits what documents cost together, and how many of them read and format at once. */
class CostSemaphore {
  readonly #capacity: number;
  readonly #maxReading: number;
  readonly #byCaller = new Map<string, number>();
  readonly #waiting = new Set<Waiting>();
  #running = 0;
  #reading = 0;

  constructor(capacity: number, maxReading: number) {
    this.#capacity = capacity;
    this.#maxReading = maxReading;
  }

  /** Waits for room. Returns the function that ends the reading. */
  acquire(callerId: string, cost: number, onLeave: OnLeave): Promise<(() => void) | undefined> {
    const { promise, resolve } = Promise.withResolvers<(() => void) | undefined>();
    let state: 'waiting' | 'reading' | 'sending' = 'waiting';
    const endReading = () => {
      if (state !== 'reading') return;
      state = 'sending';
      this.#reading -= 1;
      this.#startWaiting();
    };
    const start = () => {
      state = 'reading';
      clearTimeout(timeout);
      resolve(endReading);
    };
    const waiting = { callerId, cost, start };
    const stopWaiting = () => {
      this.#waiting.delete(waiting);
      resolve(undefined);
    };
    const timeout = setTimeout(stopWaiting, MAX_WAIT_MS);
    this.#waiting.add(waiting);
    this.#startWaiting();
    onLeave(() => {
      clearTimeout(timeout);
      stopWaiting();
      endReading();
      if (state !== 'waiting') this.#release(callerId, cost);
    });
    return promise;
  }

  /** Lets other callers take their turns before the further documents of one whose turn it was. */
  #moveToEnd(callerId: string): void {
    for (const waiting of [...this.#waiting]) {
      if (waiting.callerId !== callerId) continue;
      this.#waiting.delete(waiting);
      this.#waiting.add(waiting);
    }
  }

  #release(callerId: string, cost: number): void {
    const ofCaller = (this.#byCaller.get(callerId) ?? 0) - cost;
    if (ofCaller > 0) this.#byCaller.set(callerId, ofCaller);
    else this.#byCaller.delete(callerId);
    this.#running -= cost;
    this.#startWaiting();
  }

  /** Starts those that may run, in order. Those whose caller has its share are passed, but none that lacks room. */
  #startWaiting(): void {
    for (const next of [...this.#waiting]) {
      const { callerId, cost } = next;
      const ofCaller = this.#byCaller.get(callerId) ?? 0;
      if (ofCaller > 0 && ofCaller + cost > MAX_CALLER_COST) continue;
      if (this.#reading >= this.#maxReading || this.#running + cost > this.#capacity) return;
      this.#waiting.delete(next);
      this.#moveToEnd(callerId);
      this.#byCaller.set(callerId, ofCaller + cost);
      this.#running += cost;
      this.#reading += 1;
      next.start();
    }
  }
}
