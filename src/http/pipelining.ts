import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Maximum number of concurrent requests of one socket, including finished ones whose replies wait for earlier ones. */
const MAX_RUNNING = 16;

/** A socket with more requests waiting to run is destroyed; real clients do not pipeline that many. */
const MAX_WAITING = 128;

/** The requests of one socket whose replies are not complete. */
type Pipeline = { running: number; waiting: [IncomingMessage, ServerResponse][] };

/** A request listener with bounded pipelining (RFC 9112, section 9.3.2). */
export type PipelinedListener = {
  listener: RequestListener;
  /** Whether a request of the socket is running. */
  isServing(socket: Socket): boolean;
};

/**
 * Limits the concurrent requests of each socket; further ones wait in order. Pausing the socket is not enough, because
 * Node.js emits all requests of a 64 KiB chunk at once.
 */
export function limitPipelining(run: RequestListener): PipelinedListener {
  const pipelines = new WeakMap<Socket, Pipeline>();

  function start(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    pipeline.running += 1;
    response.once('close', () => {
      pipeline.running -= 1;
      const next = pipeline.waiting.shift();
      // Do not run requests whose replies cannot be sent.
      if (next !== undefined && request.socket.writable) start(pipeline, ...next);
    });
    run(request, response);
  }

  return {
    listener(request, response) {
      const { socket } = request;
      if (socket.destroyed) return;
      let pipeline = pipelines.get(socket);
      if (pipeline === undefined) {
        pipeline = { running: 0, waiting: [] };
        pipelines.set(socket, pipeline);
      }
      if (pipeline.running < MAX_RUNNING) start(pipeline, request, response);
      else if (pipeline.waiting.push([request, response]) > MAX_WAITING) {
        pipeline.waiting = [];
        socket.destroy();
      }
    },
    isServing: (socket) => (pipelines.get(socket)?.running ?? 0) > 0,
  };
}
