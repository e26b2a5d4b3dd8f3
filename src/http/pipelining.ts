import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Maximum number of concurrent requests of one socket, including finished requests whose replies wait for earlier
 * replies.
 */
const MAX_RUNNING = 16;

/** A socket with more requests waiting to run is destroyed; real clients do not pipeline that many. */
const MAX_WAITING = 128;

/** The requests of one socket whose replies are not complete. */
type SocketRequests = { running: number; waiting: [IncomingMessage, ServerResponse][] };

/** A request listener with bounded pipelining (RFC 9112, section 9.3.2). */
export type PipelinedListener = {
  listener: RequestListener;
  /** Whether a request of the socket is running. */
  isServing(socket: Socket): boolean;
};

/**
 * Limits the concurrent requests of each socket; further requests wait in order. Pausing the socket is not enough,
 * because Node.js emits all requests of a 64 KiB chunk at once.
 */
export function limitPipelining(run: RequestListener): PipelinedListener {
  const requestsBySocket = new WeakMap<Socket, SocketRequests>();

  function start(requests: SocketRequests, request: IncomingMessage, response: ServerResponse): void {
    requests.running += 1;
    response.once('close', () => {
      requests.running -= 1;
      const next = requests.waiting.shift();
      // Do not run requests whose replies cannot be sent.
      if (next !== undefined && request.socket.writable) start(requests, ...next);
    });
    run(request, response);
  }

  return {
    listener(request, response) {
      const { socket } = request;
      if (socket.destroyed) return;
      let requests = requestsBySocket.get(socket);
      if (requests === undefined) {
        requests = { running: 0, waiting: [] };
        requestsBySocket.set(socket, requests);
      }
      if (requests.running < MAX_RUNNING) start(requests, request, response);
      else if (requests.waiting.push([request, response]) > MAX_WAITING) {
        requests.waiting = [];
        socket.destroy();
      }
    },
    isServing: (socket) => (requestsBySocket.get(socket)?.running ?? 0) > 0,
  };
}
