import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from '../database/page.ts';

/** Reads of one user that run at once. */
const READS_AT_ONCE = 4;

/** Longer lists block the event loop noticeably. */
const LONG_LIST = 1000;

/**
 * After a long list, the user's next one waits this many times the reading time. Serializing takes three times as long
 * as reading, so that other users have about five sixths of the event loop.
 */
const REST = 20;

/** On a busy machine reading takes long for other reasons than the list. */
const MAX_REST_MS = 1000;

/**
 * Runs a few reads of each user at once, and one list that may be long, so that a user who keeps requesting long lists
 * cannot take the whole event loop.
 */
export class ReadTurns {
  readonly #reads = new Turns(READS_AT_ONCE);
  readonly #lists = new Turns(1);

  /** Reads when it is the user's turn. @returns what `read` does, its errors included */
  take<Result>(
    user: string,
    read: () => Result | Promise<Result>,
    listing?: { readonly page: Page },
  ): Promise<Result> {
    const { limit = Number.POSITIVE_INFINITY } = listing?.page ?? { limit: 0 };
    if (limit <= LONG_LIST) return this.#reads.take(user, read);
    const list = async (rest: (ms: number) => void) => {
      const startedAt = performance.now();
      const result = await this.#reads.take(user, read);
      if (recordsIn(result) > LONG_LIST) rest(Math.min(REST * (performance.now() - startedAt), MAX_REST_MS));
      return result;
    };
    return this.#lists.take(user, list);
  }
}

/** Runs a limited number of tasks per key at once; further ones wait in order. */
export class Turns {
  readonly #limit: number;
  readonly #lines = new Map<string, Line>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Does some work when it is its turn. The work may keep its turn for some milliseconds after it is done. */
  async take<Result>(
    key: string,
    work: (keep: (ms: number) => void) => Result | Promise<Result>,
  ): Promise<Result> {
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.running < this.#limit) line.running += 1;
    else await new Promise<void>((proceed) => line.waiting.push(proceed));
    let keptMs = 0;
    const keep = (ms: number) => {
      keptMs = ms;
    };
    try {
      return await work(keep);
    } finally {
      if (keptMs === 0) this.#pass(key, line);
      else void pause(keptMs, undefined, { ref: false }).then(() => this.#pass(key, line));
    }
  }

  /** Hands the place to the next in line, so that no newcomer overtakes it. */
  #pass(key: string, line: Line): void {
    const next = line.waiting.shift();
    if (next === undefined) line.running -= 1;
    else next();
    if (line.running === 0) this.#lines.delete(key);
  }
}

type Line = { running: number; readonly waiting: (() => void)[] };

function recordsIn(result: unknown): number {
  const isConnection = typeof result === 'object' && result !== null && 'nodes' in result;
  return isConnection && Array.isArray(result.nodes) ? result.nodes.length : 0;
}
