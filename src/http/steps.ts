import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** A step of request handling, in the form of Express middleware. Replies, calls `next`, or throws. */
export type Step = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Runs steps in order until one replies. `sendFailure` replies with the error of a step. */
export function runInOrder(
  steps: readonly Step[],
  sendFailure: (error: unknown, response: ServerResponse) => void,
): RequestListener {
  return (request, response) => {
    const runFrom = (index: number) => {
      try {
        steps[index]?.(request, response, (error) => {
          if (error === undefined) runFrom(index + 1);
          else sendFailure(error, response);
        });
      } catch (error) {
        sendFailure(error, response);
      }
    };
    runFrom(0);
  };
}
