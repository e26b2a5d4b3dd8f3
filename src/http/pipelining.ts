import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Requests of one socket that run at once, those included whose replies wait for an earlier one's. */
const MAX_RUNNING = 16;

/** A socket with more requests waiting to run is destroyed: no honest client sends that many ahead. */
const MAX_WAITING = 128;

/** The requests of one socket that are not completely answered. */
type Pipeline = { running: number; waiting: [IncomingMessage, ServerResponse][] };

/** A request listener with bounded pipelining (RFC 9112, section 9.3.2). */
export type PipelinedListener = {
  listener: RequestListener;
  /** Whether a request of the socket runs. */
  isServing(socket: Socket): boolean;
};

/**
 * Runs at most 16 requests of a socket at once, and the following ones in their order. Node.js emits every request of
 * a chunk of 64 KiB while it parses it, which pausing the socket cannot prevent.
 */
export function limitPipelining(run: RequestListener): PipelinedListener {
  const pipelines = new WeakMap<Socket, Pipeline>();

  function start(pipeline: Pipeline, request: IncomingMessage, response: ServerResponse): void {
    pipeline.running += 1;
    response.once('close', () => {
      pipeline.running -= 1;
      const next = pipeline.waiting.shift();
      // A socket that cannot be written to has no use for further replies.
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
