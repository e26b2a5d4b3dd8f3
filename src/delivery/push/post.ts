import { type Agent, request } from 'node:https';
import type { LookupFunction } from 'node:net';

/** The reply to a request, or why there is none. */
export type PostResult =
  | { kind: 'reply'; status: number; retryAfter: string | undefined }
  /** `code` is the Node.js error code. `wasSent` is true if the server may have processed the request. */
  | { kind: 'error'; code: string; wasSent: boolean; isAborted: boolean };

/** How to post. */
export type PostOptions = {
  readonly agent: Agent;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly signal: AbortSignal;
  /** Resolves the host. Defaults to `dns.lookup`. */
  readonly lookup?: LookupFunction;
};

/** A longer reply is cut off. Its text is not used; reading it allows the connection to be used again. */
const MAX_REPLY_BYTES = 16_384;

/** Posts a body over HTTPS. Does not follow redirects. */
export function post(url: URL, body: Buffer, options: PostOptions): Promise<PostResult> {
  const { promise, resolve } = Promise.withResolvers<PostResult>();
  let wasSent = false;
  let reply: PostResult | undefined;
  const sending = request(url, { ...options, method: 'POST' });
  sending.once('finish', () => {
    wasSent = true;
  });
  sending.once('response', (response) => {
    let length = 0;
    const { statusCode: status = 0, headers } = response;
    const received: PostResult = { kind: 'reply', status, retryAfter: headers['retry-after'] };
    reply = received;
    response.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_REPLY_BYTES) response.destroy();
    });
    // The status is known, even if the rest of the reply is lost.
    response.on('error', () => {});
    response.once('close', () => resolve(received));
  });
  sending.on('error', (error: NodeJS.ErrnoException) => {
    const code = error.code ?? error.name;
    resolve(reply ?? { kind: 'error', code, wasSent, isAborted: options.signal.aborted });
  });
  sending.end(body);
  return promise;
}
