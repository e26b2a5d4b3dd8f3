import type { ChatConfig } from '../../config.ts';
import { readSystemErrorCode } from '../../errors/system-error-code.ts';
import { readResponseText } from '../../values/response-text.ts';

/** The reply of the chat API, or the failure to receive it. */
export type ApiReply =
  | { kind: 'reply'; status: number; retryAfter: string | null; body: string }
  /** No connection was established, so nothing was sent. */
  | { kind: 'unreachable'; code: string | null }
  /** The request timed out. It may have been sent. */
  | { kind: 'timeout' }
  /** The request may have been sent, and the reply was not received completely. */
  | { kind: 'lost' };

/** Slack repeats the message in its reply, with up to 100 bytes for one emoji. */
const MAX_REPLY_BYTES = 256 * 1024;

/** Calls a method of the chat API. Does not follow redirects, which would send the token to another address. */
export async function callApi(
  { apiUrl, token }: ChatConfig,
  method: string,
  parameters: object,
  signal: AbortSignal,
): Promise<ApiReply> {
  try {
    const response = await fetch(`${apiUrl}/${method}`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token.reveal()}`,
        'Content-Type': 'application/json; charset=utf-8',
      },
      body: JSON.stringify(parameters),
      redirect: 'manual',
      signal,
    });
    const body = await readResponseText(response, MAX_REPLY_BYTES);
    if (body === undefined) return { kind: 'lost' };
    return { kind: 'reply', status: response.status, retryAfter: response.headers.get('retry-after'), body };
  } catch (error) {
    if (signal.aborted) return { kind: 'timeout' };
    // `fetch` wraps the error of the connection.
    const cause = error instanceof Error ? error.cause : undefined;
    return isConnectionFailure(cause)
      ? { kind: 'unreachable', code: readSystemErrorCode(cause) ?? null }
      : { kind: 'lost' };
  }
}

/** Errors of DNS, TCP and TLS. */
const CONNECTION_FAILURE =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$|^ERR_SSL_|^EPROTO$|CERT|UNABLE_TO_/;

/** Whether an error occurred before the request was sent. */
function isConnectionFailure(cause: unknown): boolean {
  // Node.js reports failed connections to a host with several addresses as an `AggregateError`.
  return cause instanceof AggregateError || CONNECTION_FAILURE.test(readSystemErrorCode(cause) ?? '');
}
