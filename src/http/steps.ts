import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

/** A step of a request, in the form of Express middleware. It replies itself, calls `next`, or throws. */
export type Step = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void;

/** Runs steps one after another, until one replies. `sendFailure` replies to the error of a step. */
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
