import { once } from 'node:events';
import type { Response } from 'express';
import type { Context, GatewayPlugin } from '../../context.ts';
import { contextOf } from '../../server/caller.ts';
import { maskResult, type OperationResult } from '../errors.ts';
import { EVENT_STREAM } from './request.ts';

/**
 * Masks the errors of all replies, also of requests that were not executed, and sends subscriptions as server-sent events.
 * It takes a stream before Yoga wraps it, because the wrappers keep Yoga's objects of the request in memory and take time
 * for each event. Yoga's own writer takes about 14 KiB more a subscriber, and a timer each, and turns off the timeout by
 * which clients that stop reading are disconnected.
 */
export function useReplies(): GatewayPlugin {
  const heartbeats = new Heartbeats();
  return {
    onSubscribe({ args: { contextValue } }) {
      const { res } = contextValue;
      return {
        onSubscribeResult({ result, setResult }) {
          if (!(Symbol.asyncIterator in result)) return;
          sendEvents(result[Symbol.asyncIterator](), res, heartbeats).catch(() => res.destroy());
          setResult({});
        },
      };
    },
    onResultProcess({ result, setResult, serverContext: { res }, setResultProcessor }) {
      if (res.headersSent || res.closed) {
        // Not sent: the reply has begun.
        setResultProcessor((_result, { Response }) => new Response(), EVENT_STREAM);
        return;
      }
      // The prepared reply to introspection is JSON.
      if (Array.isArray(result) || Symbol.asyncIterator in result || result.stringify) return;
      const context = contextOf(res);
      const { reply, httpErrors } = mask(result, context);
      const running = reply.data == null ? undefined : context.runningDocument;
      const text = running ? running.format(reply) : JSON.stringify(reply);
      // Yoga reads status and headers from the errors. It would serialize copies of them, without `locations`.
      const show = (text: string) =>
        setResult({ ...(httpErrors.length > 0 && { errors: httpErrors }), stringify: () => text });
      return typeof text === 'string' ? show(text) : text.then(show);
    },
  };
}

/** Returns the reply of a result, and the errors with the status of the HTTP response. Most results have none. */
const mask = (result: OperationResult, context: Context) =>
  result.errors
    ? maskResult(result, context)
    : { reply: { data: result.data, errors: undefined }, httpErrors: [] };

const COMMENT = ':\n\n';
const NEXT = 'event: next\ndata: ';
const COMPLETE = 'event: complete\ndata:\n\n';

/**
 * Sends a subscription as server-sent events (GraphQL over SSE, distinct connections mode) until it ends or the client
 * disconnects. Reads no further results while the send buffer is full. An error of the stream is sent as the last
 * result.
 */
async function sendEvents(
  events: AsyncIterator<OperationResult>,
  response: Response,
  heartbeats: Heartbeats,
): Promise<void> {
  const format = (event: OperationResult) =>
    `${NEXT}${JSON.stringify(mask(event, contextOf(response)).reply)}\n\n`;
  const stop = () => void events.return?.(undefined).catch(() => undefined);
  if (response.closed) return stop();
  response.once('close', stop);
  // Express keeps the state of its router there.
  response.req.next = undefined;
  writeHead(response);
  heartbeats.add(response);
  try {
    for (;;) {
      const { done, value } = await events.next();
      if (done || response.closed) break;
      if (!response.write(format(value))) await waitForDrain(response);
    }
  } catch (error) {
    response.write(format({ errors: [error] }));
  } finally {
    stop();
    heartbeats.remove(response);
    response.end(COMPLETE);
  }
}

function writeHead(response: Response): void {
  response.socket?.setKeepAlive(true);
  response.writeHead(200, {
    'Content-Type': EVENT_STREAM,
    // A stopping gateway ends its streams and closes its connections at the same time. A proxy must not use the connection
    // of an ended stream for a request.
    Connection: 'close',
    'Cache-Control': 'no-store',
    'Content-Encoding': 'none',
  });
  // Node.js keeps the head in memory for the lifetime of the stream, as a concatenation of many strings. Flushing
  // replaces it with one string.
  response.flushHeaders();
}

/** Waits until the send buffer is empty, or the client disconnects. */
async function waitForDrain(response: Response): Promise<void> {
  const waiting = new AbortController();
  const events = ['drain', 'close'].map((event) => once(response, event, { signal: waiting.signal }));
  await Promise.race(events).catch(() => undefined);
  waiting.abort();
}

/** Interval of the comments that keep proxies from closing idle streams. */
const HEARTBEAT_SECONDS = 12;

/** Sends heartbeats to event streams. One timer serves all streams; each second it serves one twelfth of them. */
class Heartbeats {
  readonly #shares = Array.from({ length: HEARTBEAT_SECONDS }, () => new Set<Response>());
  #added = 0;
  #second = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Sends comments to a stream until {@link remove} is called. */
  add(response: Response): void {
    this.#shares[this.#added % HEARTBEAT_SECONDS]?.add(response);
    this.#added += 1;
    this.#timer ??= setInterval(() => this.#beat(), 1000);
    response.write(COMMENT);
  }

  remove(response: Response): void {
    for (const share of this.#shares) share.delete(response);
    if (this.#shares.some(({ size }) => size > 0)) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #beat(): void {
    this.#second = (this.#second + 1) % HEARTBEAT_SECONDS;
    for (const response of this.#shares[this.#second] ?? []) {
      if (!response.writableNeedDrain) response.write(COMMENT);
    }
  }
}
