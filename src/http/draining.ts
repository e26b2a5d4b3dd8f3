import type { Server, ServerResponse } from 'node:http';

/** Connection draining: closes a server without interrupting its requests. */
export type Draining = {
  readonly isOn: boolean;
  /** The number of running requests, including live streams. */
  readonly running: number;
  /** From now on, every reply announces that its connection will be closed (RFC 9112, section 9.6). */
  start(): void;
  /**
   * Stops accepting connections and waits up to `graceMs` for running requests. Then closes their connections and
   * returns how many requests were cut off.
   */
  finish(graceMs: number): Promise<number>;
};

/** `server.close()` closes idle connections only once; those that become idle later are closed at this interval. */
const SWEEP_MS = 50;

/** Creates the draining of a server. Must be called before its first request. */
export function createDraining(server: Server): Draining {
  // Not a `Set`: V8 replaces the table of a set that changes often, and each table references its successor. Once one
  // table is in the old generation, all its successors, and the responses in them, stay alive until the next major
  // collection.
  const running: (ServerResponse | undefined)[] = [];
  const freeSlots: number[] = [];
  let isOn = false;
  server.on('request', (_request, response) => {
    if (isOn) response.setHeader('Connection', 'close');
    const slot = freeSlots.pop() ?? running.length;
    running[slot] = response;
    response.once('close', () => {
      running[slot] = undefined;
      freeSlots.push(slot);
    });
  });
  const countRunning = () => running.length - freeSlots.length;

  return {
    get isOn() {
      return isOn;
    },
    get running() {
      return countRunning();
    },
    start() {
      isOn = true;
      for (const response of running)
        if (response?.headersSent === false) response.setHeader('Connection', 'close');
    },
    async finish(graceMs) {
      let cut = 0;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const grace = setTimeout(() => {
        cut = countRunning();
        server.closeAllConnections();
      }, graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(grace);
      return cut;
    },
  };
}
