/** The maximum number of changes of one user that wait. */
const MAX_WAITING = 256;

type Waiting = { start(): void };

/** The turns of changes of one user, within a process. Changes of different users never wait for each other. */
export class Turns {
  readonly #timeoutMs: number;
  /** The changes that wait, by the user whose change is running. */
  readonly #queues = new Map<string, Set<Waiting>>();

  /** @param timeoutMs how long a change may take from its arrival, its wait included */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Runs a change when it is its turn. `deadline` is by `performance.now()`.
   * @throws {Error} if too many others wait, or its turn does not come in time: it has then not begun
   */
  async take<Result>(userId: string, work: (deadline: number) => Promise<Result>): Promise<Result> {
    const deadline = performance.now() + this.#timeoutMs;
    const queue = this.#queues.get(userId);
    if (queue === undefined) this.#queues.set(userId, new Set());
    else await this.#wait(queue);
    try {
      return await work(deadline);
    } finally {
      this.#endTurn(userId);
    }
  }

  #wait(queue: Set<Waiting>): Promise<void> {
    if (queue.size >= MAX_WAITING)
      throw new Error(`${MAX_WAITING} changes of one user wait, which is the maximum.`);
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(() => {
        queue.delete(waiting);
        reject(new Error('The turn of the change did not come before the timeout.'));
      }, this.#timeoutMs);
      const waiting = {
        start() {
          clearTimeout(timeout);
          resolve();
        },
      };
      queue.add(waiting);
    });
  }

  #endTurn(userId: string): void {
    const queue = this.#queues.get(userId);
    const [next] = queue ?? [];
    if (next === undefined) this.#queues.delete(userId);
    else queue?.delete(next);
    next?.start();
  }
}
