import type { Server, ServerResponse } from 'node:http';

/** Lets a server's clients go before it closes. */
export type Draining = {
  readonly isOn: boolean;
  /** Requests that run, live streams among them. */
  readonly running: number;
  /** From now on every reply is the last one of its connection (RFC 9112, section 9.6). */
  start(): void;
  /**
   * Takes no new connections, and waits for the requests that run, for so many milliseconds; then cuts the rest, and
   * answers how many.
   */
  finish(graceMs: number): Promise<number>;
};

/** Node closes idle connections once; those that become idle later would hold the server for their idle time. */
const SWEEP_MS = 50;

/** Watches a server's requests from the first one on. */
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
