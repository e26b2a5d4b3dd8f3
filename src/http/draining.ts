import type { Server, ServerResponse } from 'node:http';

/** Connection draining: closes a server without interrupting its requests. */
export type Draining = {
  readonly isOn: boolean;
  /** The number of running requests, including live streams. */
  readonly running: number;
  /** Closes every connection after its current reply (RFC 9112, section 9.6). */
  start(): void;
  /**
   * Stops accepting connections and waits up to `graceMs` for running requests. Then closes their connections and returns
   * how many requests were cut off.
   */
  finish(graceMs: number): Promise<number>;
};

/** `server.close()` closes idle connections only once; those that become idle later are closed at this interval. */
const SWEEP_MS = 50;

/** Creates the draining of a server. Must be called before its first request. */
export function createDraining(server: Server): Draining {
  const running = new Set<ServerResponse>();
  let isOn = false;
  server.on('request', (_request, response) => {
    if (isOn) response.setHeader('Connection', 'close');
    running.add(response);
    response.once('close', () => running.delete(response));
  });

  return {
    get isOn() {
      return isOn;
    },
    get running() {
      return running.size;
    },
    start() {
      isOn = true;
      for (const response of running) if (!response.headersSent) response.setHeader('Connection', 'close');
    },
    async finish(graceMs) {
      let cut = 0;
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
      const grace = setTimeout(() => {
        cut = running.size;
        server.closeAllConnections();
      }, graceMs);
      await closed;
      clearInterval(sweep);
      clearTimeout(grace);
      return cut;
    },
  };
}
