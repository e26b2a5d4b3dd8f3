/** One execution result of a subscription. */
export type SseResult = {
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into data of any shape and says what it expects there.
  data: any;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  errors: any[];
};

/** A subscription that is open. */
export type SseStream = {
  /** Every result so far. */
  readonly results: readonly SseResult[];
  /** Comments so far; the gateway sends them to keep the connection. */
  heartbeats(): number;
  /** The next result that was not taken yet. @throws {Error} where the stream ends before */
  take(): Promise<SseResult>;
  /** Resolves at the end: `complete` as the protocol says, or `cut`. */
  ended: Promise<'complete' | 'cut'>;
  /** Leaves. */
  close(): void;
};

/** A reply to a request to subscribe: a stream, or the errors why there is none. */
export type SseReply = {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: likewise.
  errors: any[];
  stream: SseStream | undefined;
};

/** Sends a subscription by GraphQL over SSE, distinct connections mode. */
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

/** Like {@link subscribe}, where a stream is expected. */
export async function openStream(...request: Parameters<typeof subscribe>): Promise<SseStream> {
  const reply = await subscribe(...request);
  if (reply.stream === undefined) throw new Error(`${reply.status} ${JSON.stringify(reply.errors)}`);
  return reply.stream;
}

function readStream(body: ReadableStream<Uint8Array<ArrayBuffer>>, close: () => void): SseStream {
  const results: SseResult[] = [];
  let heartbeats = 0;
  let taken = 0;
  let hasEnded = false;
  let news = Promise.withResolvers<void>();
  const ended = read().finally(() => {
    hasEnded = true;
    news.resolve();
  });

  return {
    results,
    heartbeats: () => heartbeats,
    async take() {
      for (;;) {
        const result = results[taken];
        if (result !== undefined) {
          taken += 1;
          return result;
        }
        if (hasEnded) throw new Error('The stream ended.');
        await news.promise;
      }
    },
    ended,
    close,
  };

  async function read(): Promise<'complete' | 'cut'> {
    let rest = '';
    try {
      for await (const text of body.pipeThrough(new TextDecoderStream())) {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) if (note(block)) return 'complete';
      }
    } catch {
      // Cut, by us or by the gateway.
    }
    return 'cut';
  }

  /** Answers whether the block ends the stream. */
  function note(block: string): boolean {
    const lines = block.split('\n').map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    });
    const { event, data } = Object.fromEntries(lines);
    if (event === 'complete') return true;
    if (data === undefined) heartbeats += 1;
    else {
      const { data: value, errors = [] } = JSON.parse(data);
      results.push({ data: value, errors });
    }
    news.resolve();
    news = Promise.withResolvers();
    return false;
  }
}
