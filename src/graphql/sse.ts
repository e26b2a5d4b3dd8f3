import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { ExecutionResult } from 'graphql';
import { InternalError } from '../errors.ts';
import { type Log, logInternalError } from '../log.ts';
import { asGatewayError, shownError, toGraphQLError } from './gateway-error.ts';

/** The media type of server-sent events. */
export const EVENT_STREAM = 'text/event-stream';

/** A comment goes this often, so that no proxy takes the connection for dead. */
const HEARTBEAT_MS = 12_000;
const COMMENT = ':\n\n';

/** What a subscription answers, one result for each event. */
export type Results = AsyncIterable<ExecutionResult>;

/**
 * Answers a subscription by server-sent events, as GraphQL over SSE has it in its distinct connections mode, until
 * it ends or the client leaves. The next result is asked for when the client has taken the last one. Never rejects:
 * what is thrown goes to the client as a result, and ends the stream.
 */
export async function sendEvents(results: Results, response: ServerResponse, log: Log): Promise<void> {
  const iterator = results[Symbol.asyncIterator]();
  const stop = () => void iterator.return?.().catch(() => undefined);
  if (response.closed) return stop();
  response.once('close', stop);
  begin(response);
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain) response.write(COMMENT);
  }, HEARTBEAT_MS);
  try {
    await pump(iterator, response, log);
  } catch (error) {
    response.write(nextEvent({ errors: [toGraphQLError(error)] }, log));
  } finally {
    clearInterval(heartbeat);
    response.end('event: complete\ndata:\n\n');
  }
}

function begin(response: ServerResponse): void {
  response.socket?.setKeepAlive(true);
  response.writeHead(200, {
    'Content-Type': EVENT_STREAM,
    Connection: 'keep-alive',
    'Cache-Control': 'no-cache',
    'Content-Encoding': 'none',
  });
  // Written alone, the head is kept as one text for as long as the stream lives, not in its many pieces.
  response.flushHeaders();
  response.write(COMMENT);
}

async function pump(iterator: AsyncIterator<ExecutionResult>, response: ServerResponse, log: Log) {
  for (;;) {
    const { done, value } = await iterator.next();
    if (done || response.closed) return;
    if (!response.write(nextEvent(value, log))) await drained(response);
  }
}

function nextEvent({ errors, ...result }: ExecutionResult, log: Log): string {
  for (const error of errors?.map(asGatewayError) ?? []) {
    if (error instanceof InternalError) logInternalError(log, error);
  }
  const shown = errors?.map((error) => shownError(toGraphQLError(error)));
  return `event: next\ndata: ${JSON.stringify({ ...(shown && { errors: shown }), ...result })}\n\n`;
}

/** Waits until the client has taken what was written, or has left. */
async function drained(response: ServerResponse): Promise<void> {
  const waiting = new AbortController();
  const { signal } = waiting;
  await Promise.race(['drain', 'close'].map((event) => once(response, event, { signal }))).catch(
    () => undefined,
  );
  waiting.abort();
}
