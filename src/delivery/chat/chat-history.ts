import { z } from 'zod';
import type { ChatConfig } from '../../config.ts';
import { toMilliseconds } from '../../values/time.ts';
import { hashMessageKey, type Message } from '../message.ts';
import { type AttemptOutcome, retryLater } from '../outcome.ts';
import { callApi, classifyReply, formatReceipt, parseReply } from './chat-api.ts';

const EVENT_TYPE = 'workspace_notification';

/** Creates the metadata by which {@link findMessage} recognizes a posted message. */
export function createMetadata(message: Message) {
  return { event_type: EVENT_TYPE, event_payload: { key: hashMessageKey(message) } };
}

/** Limits a search to the 500 newest messages. More pages would not fit into the time of an attempt. */
const MAX_PAGES = 5;
const PAGE_LENGTH = 100;
const MAX_PAGE_BYTES = 4 * 1024 * 1024;

/** How much earlier than the notification a message may be dated: `occurredAt` may be in the future, and clocks differ. */
const CLOCK_TOLERANCE_MS = 600_000;

const Opened = z.object({ channel: z.object({ id: z.string() }) });
const History = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.object({ key: z.string() }) })
        .optional()
        .catch(undefined),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional().catch(undefined),
});

/**
 * Finds a posted message in the direct messages to a member. Returns its receipt, `undefined` if it is not found or the
 * token must not read the history, or why the search has to be repeated.
 */
export async function findMessage(
  config: ChatConfig,
  message: Message,
  memberId: string,
  signal: AbortSignal,
): Promise<AttemptOutcome | undefined> {
  const call = async <Shape extends z.ZodType>(method: string, parameters: object, shape: Shape) => {
    const reply = await callApi(config, method, parameters, signal, MAX_PAGE_BYTES);
    const outcome = classifyReply(reply, Date.now());
    if (reply.kind !== 'reply' || outcome.kind !== 'delivered') return { failure: toFailure(outcome) };
    return { data: parseReply(reply.body, shape) };
  };

  const opened = await call('conversations.open', { users: memberId, prevent_creation: true }, Opened);
  if (opened.data === undefined) return opened.failure;
  const channel = opened.data.channel.id;
  const key = hashMessageKey(message);
  const oldest = Math.max(0, toMilliseconds(message.occurredAt) - CLOCK_TOLERANCE_MS) / 1000;
  const parameters = { channel, oldest: String(oldest), limit: String(PAGE_LENGTH) };
  let cursor: string | undefined = '';
  for (let page = 0; page < MAX_PAGES && cursor !== undefined; page += 1) {
    const query = new URLSearchParams({ ...parameters, include_all_metadata: 'true', cursor });
    const history = await call('conversations.history', query, History);
    if (history.data === undefined) return history.failure;
    const { messages, response_metadata: next } = history.data;
    const found = messages.find(
      ({ metadata }) => metadata?.event_type === EVENT_TYPE && metadata.event_payload.key === key,
    );
    if (found !== undefined) return { kind: 'delivered', receipt: formatReceipt({ channel, ts: found.ts }) };
    cursor = next?.next_cursor || undefined;
  }
  return undefined;
}

/** Errors if the token must not, or the service cannot, search. */
const CANNOT_SEARCH =
  /^(missing_scope|not_allowed_token_type|unknown_method|method_deprecated|HTTP 40[0345])$/;

/** Returns the outcome if the search has to be repeated, and `undefined` if repeating it is useless. */
function toFailure(outcome: AttemptOutcome): AttemptOutcome | undefined {
  if (outcome.kind === 'retry') return outcome.reason === 'reply_lost' ? outcome : undefined;
  if (outcome.kind !== 'unavailable' || CANNOT_SEARCH.test(outcome.providerCode ?? '')) return undefined;
  // The limit of searches is lower than that of messages, so it must not pause them.
  const { reason, providerCode, retryAfterSeconds } = outcome;
  return reason === 'rate_limited' ? retryLater(reason, providerCode, retryAfterSeconds) : outcome;
}
