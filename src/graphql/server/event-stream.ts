import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Heartbeats } from '../../http/heartbeats.ts';
import type { RunningSubscription } from '../execution/engine.ts';
import type { GraphQLReply } from '../mask-errors.ts';

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/**
 * Sends a subscription as server-sent events (GraphQL over SSE, distinct connections mode) until it ends or the client
 * disconnects. Reads no further results while the send buffer is full. Never rejects: an error is sent
 * as the last result.
 */
export async function sendEvents(
  { results, toReply }: RunningSubscription,
  response: ServerResponse,
  heartbeats: Heartbeats,
): Promise<void> {
  const stop = () => void results.return(undefined).catch(() => undefined);
  if (response.closed) return stop();
  response.once('close', stop);
  writeHead(response);
  heartbeats.add(response);
  try {
    for (;;) {
      const { done, value } = await results.next();
      if (done || response.closed) break;
      if (!response.write(formatEvent(toReply(value)))) await waitForDrain(response);
    }
  } catch (error) {
    response.write(formatEvent(toReply({ errors: [error] })));
  } finally {
    heartbeats.remove(response);
    response.end('event: complete\ndata:\n\n');
  }
}

function writeHead(response: ServerResponse): void {
  response.socket?.setKeepAlive(true);
  response.writeHead(200, {
    'Content-Type': EVENT_STREAM,
    Connection: 'keep-alive',
    'Cache-Control': 'no-cache',
    'Content-Encoding': 'none',
  });
  // Node.js keeps the head in memory for the lifetime of the stream, as a concatenation of many strings. Flushing
  // replaces it with one string.
  response.flushHeaders();
}

function formatEvent({ errors, data }: GraphQLReply): string {
  return `event: next\ndata: ${JSON.stringify({ errors, data })}\n\n`;
}

/** Waits until the send buffer is empty, or the client disconnects. */
async function waitForDrain(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race(['drain', 'close'].map((event) => once(response, event, { signal }))).catch(
    () => undefined,
  );
  waiting.abort();
}
