import type { AccountEvent } from './account-events.ts';
import { fromReply, type ReplyError, toGatewayError } from './gateway-error.ts';
import { AccountEvents } from './generated/documents.ts';
import { post, readReply, type Session } from './transport.ts';

/** The gateway sends a comment every 12 seconds. Five seconds after one is missed, the connection is dead. */
const SILENCE_MS = 17_000;

type Result = {
  readonly data?: { readonly accountEvents: AccountEvent | null } | null;
  readonly errors?: readonly ReplyError[];
};

/** What a stream needs. */
export type StreamRequest = {
  readonly session: Session;
  /** Resumes after this cursor; undefined begins now. */
  readonly after: string | undefined;
  /** A token that is known to be refused. */
  readonly rejected: string | undefined;
  /** Receives the events that arrived together, and the token of the stream. */
  onEvents(events: readonly AccountEvent[], token: string): void;
  readonly signal: AbortSignal;
};

/**
 * Reads events until the gateway completes the stream without an error, because the user was deleted or the epoch of the
 * database was renewed.
 * @throws {GatewayError} the error with which it ends, or `NETWORK_ERROR` if the connection is lost
 */
export async function readEvents(request: StreamRequest): Promise<void> {
  const { session, after, rejected, signal } = request;
  const watchdog = new AbortController();
  const startTimer = () => setTimeout(() => watchdog.abort(lost('The connection is silent.')), SILENCE_MS);
  let timer = startTimer();
  const onBytes = () => {
    clearTimeout(timer);
    timer = startTimer();
  };
  try {
    const { response, token } = await post(
      session,
      AccountEvents,
      { after },
      {
        accept: 'text/event-stream',
        signal: AbortSignal.any([signal, watchdog.signal]),
        rejected,
      },
    );
    await readBody(response, onBytes, (events) => request.onEvents(events, token));
  } finally {
    clearTimeout(timer);
    watchdog.abort();
  }
}

async function readBody(
  response: Response,
  onBytes: () => void,
  onEvents: (events: readonly AccountEvent[]) => void,
): Promise<void> {
  const isStream = response.headers.get('Content-Type')?.startsWith('text/event-stream');
  if (!isStream) await readReply(response);
  if (!isStream || response.body === null) throw lost('The reply is not a stream.');
  let results: Result[] = [];
  let isComplete = false;
  const parse = createParser();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  while (!isComplete) {
    const { done, value } = await reader.read();
    if (done) throw lost('The connection was closed.');
    onBytes();
    for (const { event, data } of parse(value)) {
      if (event === 'complete') isComplete = true;
      else if (event === 'next') results.push(JSON.parse(data));
    }
    const events = results.map(({ data }) => data?.accountEvents).filter((event) => event != null);
    if (events.length > 0) onEvents(events);
    const error = results.flatMap(({ errors = [] }) => errors).at(0);
    if (error !== undefined) throw fromReply(error, response.headers.get('X-Request-Id'));
    results = [];
  }
}

/** Returns a function that takes the next text of a stream, and returns the server-sent events that it completes. */
function createParser(): (text: string) => { readonly event: string; readonly data: string }[] {
  let rest = '';
  return (text) => {
    // The gateway ends lines by a line feed.
    const blocks = `${rest}${text}`.split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.map((block) => {
      const read = (name: string) =>
        block
          .split('\n')
          .flatMap((line) => (line.startsWith(`${name}: `) ? line.slice(name.length + 2) : []))
          .join('\n');
      return { event: read('event'), data: read('data') };
    });
  };
}

const lost = (reason: string) => toGatewayError(new Error(reason));
