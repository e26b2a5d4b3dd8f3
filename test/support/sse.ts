/** One execution result of a subscription. */
export type SseResult = {
  // biome-ignore lint/suspicious/noExplicitAny: tests assert on data of any shape.
  data: any;
  // biome-ignore lint/suspicious/noExplicitAny: see `data`.
  errors: any[];
};

/** An open subscription. */
export type SseStream = ReturnType<typeof readStream>;

/** The reply to a subscription request: a stream, or errors. */
export type SseReply = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: see `data`.
  errors: any[];
  stream: SseStream | undefined;
};

/** Subscribes with GraphQL over SSE in distinct connections mode. */
export async function subscribe(
  { address }: { address: string },
  query: string,
  variables: Record<string, unknown> = {},
  { token, signal }: { token?: string; signal?: AbortSignal } = {},
): Promise<SseReply> {
  const leaving = new AbortController();
  const response = await fetch(`${address}/graphql`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'text/event-stream',
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ query, variables }),
    signal: signal ? AbortSignal.any([leaving.signal, signal]) : leaving.signal,
  });
  const { status, headers, body } = response;
  if (status === 200 && body) {
    return { status, headers, errors: [], stream: readStream(body, () => leaving.abort()) };
  }
  const text = await response.text();
  const { errors } = JSON.parse(/^data: (.+)$/m.exec(text)?.[1] ?? text);
  return { status, headers, errors, stream: undefined };
}

/** Subscribes and throws if the gateway rejects the subscription. */
export async function openStream(...request: Parameters<typeof subscribe>): Promise<SseStream> {
  const reply = await subscribe(...request);
  if (reply.stream === undefined) throw new Error(`${reply.status} ${JSON.stringify(reply.errors)}`);
  return reply.stream;
}

function readStream(body: ReadableStream<Uint8Array<ArrayBuffer>>, close: () => void) {
  const results: SseResult[] = [];
  let heartbeats = 0;
  let taken = 0;
  let hasEnded = false;
  let arrival = Promise.withResolvers<void>();
  const ended = read().finally(() => {
    hasEnded = true;
    arrival.resolve();
  });

  return {
    /** All results so far. */
    results,
    /** The number of comments so far, which the gateway sends to keep the connection open. */
    heartbeats: () => heartbeats,
    /** Returns the next result. @throws {Error} if the stream ends first */
    async take(): Promise<SseResult> {
      for (;;) {
        const result = results[taken];
        if (result !== undefined) {
          taken += 1;
          return result;
        }
        if (hasEnded) throw new Error('The stream ended.');
        await arrival.promise;
      }
    },
    /** Resolves at the end of the stream: `complete` if the server ended it by the protocol, otherwise `cut`. */
    ended,
    /** Closes the connection. */
    close,
  };

  async function read(): Promise<'complete' | 'cut'> {
    let rest = '';
    try {
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) if (handleBlock(block)) return 'complete';
      }
    } catch {
      // The connection was closed by the test or by the gateway.
    }
    return 'cut';
  }

  /** Returns whether the block ends the stream. */
  function handleBlock(block: string): boolean {
    if (/^event: ?complete$/m.test(block)) return true;
    const [, event] = /^data: ?(.+)$/m.exec(block) ?? [];
    if (event === undefined) heartbeats += 1;
    else {
      const { data, errors = [] } = JSON.parse(event);
      results.push({ data, errors });
    }
    arrival.resolve();
    arrival = Promise.withResolvers();
    return false;
  }
}
