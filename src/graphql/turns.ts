import { setTimeout as pause } from 'node:timers/promises';

/** A list of more records than this holds the event loop up for others. */
const LONG_LIST = 1000;

/**
 * How long a long list keeps its turn after it was read, for each record: several times what writing it takes, so that
 * somebody who asks for long lists without end takes a part of the event loop's time, not all of it.
 */
const REST_MS = 0.2;

/** Reads of one key run so many at once; more wait in the order in which they came. */
export class Turns {
  readonly #limit: number;
  readonly #lines = new Map<string, Line>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Reads when it is its turn. @returns what `read` does, its errors included */
  async take<Result>(key: string, read: () => Result | Promise<Result>): Promise<Result> {
    const line = this.#lines.get(key) ?? { running: 0, waiting: [] };
    this.#lines.set(key, line);
    if (line.running < this.#limit) line.running += 1;
    else await new Promise<void>((proceed) => line.waiting.push(proceed));
    let records = 0;
    try {
      const result = await read();
      records = recordsIn(result);
      return result;
    } finally {
      if (records <= LONG_LIST) this.#pass(key, line);
      else void pause(records * REST_MS, undefined, { ref: false }).then(() => this.#pass(key, line));
    }
  }

  /** Whoever waits takes the place over, so that nobody who comes meanwhile is first. */
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
