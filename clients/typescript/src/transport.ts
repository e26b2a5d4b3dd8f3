import { fromReply, GatewayError, type ReplyError, toGatewayError } from './gateway-error.ts';
import type { TypedDocument } from './typed-document.ts';

/** Where requests are sent, and with which tokens. */
export type Session = {
  readonly url: string;
  /** Returns the token; another one than `rejected`. @throws {GatewayError} */
  authorize(rejected?: string): Promise<string>;
};

/** A reply that takes longer counts as none. */
const TIMEOUT_MS = 30_000;

/** Statuses by which proxies report that the gateway did not reply. */
const PROXY_FAILURES = [502, 503, 504];

type Reply<Data> = { readonly data?: Data | null; readonly errors?: readonly ReplyError[] };

/**
 * Sends an operation, and returns the response and the token that it was sent with. A token that the gateway refuses is
 * replaced once.
 * @throws {GatewayError} if there is no response
 */
export async function post(
  session: Session,
  document: { readonly text: string },
  variables: unknown,
  { accept, signal, rejected }: { accept: string; signal: AbortSignal; rejected?: string | undefined },
): Promise<{ response: Response; token: string }> {
  const body = JSON.stringify({ query: document.text, variables });
  const send = async (token: string) => {
    signal.throwIfAborted();
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: accept };
    return { response: await fetch(session.url, { method: 'POST', headers, body, signal }), token };
  };
  try {
    const first = await send(await session.authorize(rejected));
    if (first.response.status !== 401) return first;
    await first.response.body?.cancel();
    return await send(await session.authorize(first.token));
  } catch (error) {
    throw toGatewayError(signal.aborted ? signal.reason : error);
  }
}

/**
 * Executes an operation once, and returns its data.
 * @throws {GatewayError} the first error of the reply, or that there was none
 */
export async function execute<Data, Variables>(
  session: Session,
  document: TypedDocument<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Data> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS);
  const { response } = await post(session, document, variables, {
    accept: 'application/graphql-response+json, application/json',
    signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
  });
  const { data } = await readReply<Data>(response);
  if (data == null) throw invalidReply(response, 'The reply has no data.');
  return data;
}

/** Reads a GraphQL reply. @throws {GatewayError} its first error, or that it is none */
export async function readReply<Data>(response: Response): Promise<Reply<Data>> {
  const reply: Reply<Data> | null = await response.json().catch((error: unknown) => {
    // The gateway's own failures are JSON.
    if (response.status >= 500 || !(error instanceof SyntaxError)) throw toGatewayError(error);
    throw invalidReply(response, 'The reply is not JSON.');
  });
  const error = reply?.errors?.[0];
  if (error !== undefined) throw fromReply(error, response.headers.get('X-Request-Id'));
  if (PROXY_FAILURES.includes(response.status)) throw toGatewayError(new Error(response.statusText));
  if (reply === null || typeof reply !== 'object')
    throw invalidReply(response, 'The reply is not an object.');
  return reply;
}

function invalidReply(response: Response, message: string): GatewayError {
  const requestId = response.headers.get('X-Request-Id') ?? undefined;
  return new GatewayError({
    code: 'INVALID_REPLY',
    message: `${message} Status: ${response.status}.`,
    requestId,
  });
}

/** Returns the value of a root field, which is null only together with an error. @throws {GatewayError} if it is null */
export function expectValue<Value>(value: Value | null): Value {
  if (value !== null) return value;
  throw new GatewayError({ code: 'INVALID_REPLY', message: 'A root field is null without an error.' });
}
