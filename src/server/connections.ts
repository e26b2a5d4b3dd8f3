import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Limits how long slow clients can occupy connections and memory, in milliseconds. */
export const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  // Longer than the usual 60 s of proxies, so that the proxy closes idle connections first.
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1000,
  // The socket is destroyed after one to two times this value.
  stalledWriteTimeout: 30_000,
};

/** The timeouts of a gateway's connections. Tests use shorter ones. */
export type Timeouts = Readonly<typeof timeouts>;

/** Maximum number of concurrent requests of one socket. Finished ones whose replies wait for earlier replies count. */
const MAX_RUNNING = 16;

/** A socket with more requests waiting to run is destroyed; real clients do not pipeline that many. */
const MAX_WAITING = 128;

/** A socket with more bytes in the bodies of such requests is destroyed. The bodies are in memory before they are read. */
const MAX_PIPELINED_BYTES = 65_536;

/** `server.close()` closes idle connections only once; those that become idle later are closed at this interval. */
const SWEEP_MS = 50;

/** The requests of one socket whose replies are not complete, and its latest response. */
type SocketRequests = {
  running: number;
  waiting: [IncomingMessage, ServerResponse][];
  /** The size of their bodies. */
  bodyBytes: number;
  latest: ServerResponse;
  /** Whether the latest response announces that the connection will be closed. */
  isClosing: boolean;
};

function announceClose(requests: SocketRequests): void {
  requests.isClosing = true;
  requests.latest.setHeader('Connection', 'close');
}

/** The connections of a server. */
export type Connections = ReturnType<typeof createConnections>;

/** Creates the connections of a server, with bounded pipelining and draining. */
export function createConnections(server: Server, stalledMs: number) {
  const bySocket = new Map<Socket, SocketRequests>();
  let isDraining = false;
  const countRunning = () =>
    [...bySocket.values()].reduce((sum, { running, waiting }) => sum + running + waiting.length, 0);

  return {
    /** Passes requests to a listener, and destroys sockets whose client does not read the replies. */
    serve(listener: RequestListener): void {
      const limited = limitPipelining((request, response) => {
        const requests = bySocket.get(request.socket);
        // An earlier reply must not announce it, because the client would not read those that follow.
        if (isDraining && requests?.latest === response) announceClose(requests);
        listener(request, response);
      }, bySocket);
      server.on('request', limited);
      // Without this listener, Node.js replies 417 to any expectation other than 100-continue.
      server.on('checkExpectation', limited);
      // Node.js checks the progress of writes at this interval. While a request is running, a socket with nothing to
      // write stays open, because live streams can be idle. Others are destroyed here, because with this listener
      // Node.js no longer destroys idle sockets itself.
      server.setTimeout(stalledMs, (socket) => {
        const isServing = (bySocket.get(socket)?.running ?? 0) > 0;
        if (socket.writableLength > 0 || !isServing) socket.destroy();
      });
    },
    /** Returns the response to the latest request of a socket, which may be complete. */
    findLatest: (socket: Socket) => bySocket.get(socket)?.latest,
    get isDraining() {
      return isDraining;
    },
    /** Counts the requests whose replies are not complete, including live streams. */
    countRunning,
    /** From now on, the last reply on a connection announces that it will be closed (RFC 9112, section 9.6). */
    startDraining(): void {
      isDraining = true;
      for (const requests of bySocket.values()) {
        if (!requests.latest.headersSent) announceClose(requests);
      }
    },
    /**
     * Stops accepting connections and waits up to `graceMs` for running requests. Then closes their connections and
     * returns how many requests were cut off.
     */
    async close(graceMs: number): Promise<number> {
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

/**
 * Limits the concurrent requests of each socket (RFC 9112, section 9.3.2); further requests wait in order. Pausing the
 * socket is not enough, because Node.js emits all requests of a 64 KiB chunk at once.
 */
export function limitPipelining(
  run: RequestListener,
  bySocket = new Map<Socket, SocketRequests>(),
): RequestListener {
  function start(requests: SocketRequests, request: IncomingMessage, response: ServerResponse): void {
    requests.running += 1;
    response.once('close', () => {
      requests.running -= 1;
      requests.bodyBytes -= readBodySize(request);
      const next = requests.waiting.shift();
      // Do not run requests whose replies cannot be sent.
      if (next !== undefined && request.socket.writable) start(requests, ...next);
    });
    run(request, response);
  }

  function open(socket: Socket, latest: ServerResponse): SocketRequests {
    const requests = { running: 0, waiting: [], bodyBytes: 0, latest, isClosing: false };
    bySocket.set(socket, requests);
    socket.once('close', () => bySocket.delete(socket));
    return requests;
  }

  return (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const requests = bySocket.get(socket) ?? open(socket, response);
    // Its reply could not be sent.
    if (requests.isClosing) return;
    requests.latest = response;
    const bodyBytes = readBodySize(request);
    requests.bodyBytes += bodyBytes;
    const isPipelined = requests.running > 0 && bodyBytes > 0;
    const isTooLarge = isPipelined && requests.bodyBytes > MAX_PIPELINED_BYTES;
    if (requests.running < MAX_RUNNING && !isTooLarge) start(requests, request, response);
    else if (isTooLarge || requests.waiting.push([request, response]) > MAX_WAITING) {
      requests.waiting = [];
      socket.destroy();
    }
  };
}

/** Returns the size of a request's body in bytes. One without a known size may use up the limit. */
function readBodySize({ headers }: IncomingMessage): number {
  const unknown = headers['transfer-encoding'] === undefined ? 0 : MAX_PIPELINED_BYTES;
  return Number(headers['content-length'] ?? unknown);
}
