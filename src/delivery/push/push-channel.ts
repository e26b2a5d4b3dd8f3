import { Agent } from 'node:https';
import type { PushConfig } from '../../config.ts';
import type { PushTarget } from '../../encryption/bound-cipher.ts';
import type { NotificationKind } from '../../notifications/notification.enums.ts';
import { toMilliseconds } from '../../values/time.ts';
import type { Channel } from '../channel.ts';
import { hashMessageKey, type Message } from '../message.ts';
import { type AttemptOutcome, rejectTarget } from '../outcome.ts';
import { createAuthorize, encryptMessage, MAX_CONTENT_BYTES } from './encryption.ts';
import { createPublicLookup, findEndpointIssue } from './endpoint.ts';
import { classifyPostResult, post } from './post.ts';

const CONCURRENCY = 50;
const CONCURRENCY_PER_HOST = 20;
const CONCURRENCY_PER_USER = 5;
const ATTEMPT_MS = 8000;
const IDLE_TIMEOUT_MS = 15_000;

/** Four weeks, the longest time that common push services keep a message. */
const MAX_TTL_SECONDS = 28 * 86_400;

/** The maximum length of a `Topic` (RFC 8030, section 5.4). */
const TOPIC_LENGTH = 32;

const urgencies = {
  plan_requested: 'high',
  question_requested: 'high',
  task_failed: 'normal',
  task_response_ready: 'normal',
} as const satisfies Readonly<Record<NotificationKind, string>>;

/** Creates the channel that sends push messages to browsers (RFC 8030). A provider is the host of a push service. */
export function createPushChannel({ privateKey, subject, allowedHosts }: PushConfig): Channel<PushTarget> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY, timeout: IDLE_TIMEOUT_MS });
  const authorize = createAuthorize(privateKey, subject);
  const lookup = createPublicLookup();

  async function send(message: Message, target: PushTarget, signal: AbortSignal): Promise<AttemptOutcome> {
    const endpoint = target.endpoint.reveal();
    if (findEndpointIssue(endpoint, allowedHosts) !== undefined)
      return rejectTarget('ERR_ENDPOINT_NOT_ALLOWED');
    const url = new URL(endpoint);
    const isAllowed = allowedHosts.includes(url.host);
    const body = encryptMessage(formatPayload(message), {
      p256dh: Buffer.from(target.p256dh.reveal(), 'base64url'),
      auth: Buffer.from(target.auth.reveal(), 'base64url'),
    });
    const headers = {
      ...createMessageHeaders(message, Date.now()),
      Authorization: await authorize(url.origin),
      'Content-Type': 'application/octet-stream',
      'Content-Encoding': 'aes128gcm',
      'Content-Length': body.length,
    };
    const result = await post(url, body, { agent, headers, signal, ...(!isAllowed && { lookup }) });
    return classifyPostResult(result, Date.now());
  }

  return {
    concurrency: CONCURRENCY,
    concurrencyPerProvider: CONCURRENCY_PER_HOST,
    concurrencyPerUser: CONCURRENCY_PER_USER,
    attemptMs: ATTEMPT_MS,
    send,
    async close() {
      agent.destroy();
    },
  };
}

/** Creates the headers that describe a message to the push service. A message replaces one with the same topic. */
function createMessageHeaders(message: Message, now: number) {
  const secondsLeft = Math.floor((toMilliseconds(message.expiresAt) - now) / 1000);
  return {
    TTL: Math.min(Math.max(secondsLeft, 0), MAX_TTL_SECONDS),
    Urgency: urgencies[message.kind],
    Topic: hashMessageKey(message).slice(0, TOPIC_LENGTH),
  };
}

/**
 * The JSON that the service worker of the web app receives, for example `{"notificationId":"n-1","kind":"task_failed",
 * "title":"Login page","request":"The task failed.","details":"It broke","url":"https://app.example.com/inbox/n-1"}`.
 * `details` and `url` may be null. If the message is too long, `details` is shortened, then `url` is null, then `title`
 * and `request` are shortened. A shortened string ends with `…`.
 */
export type PushPayload = Pick<Message, 'notificationId' | 'kind' | 'title' | 'request' | 'details' | 'url'>;

/** Formats a message as JSON that fits into a push message. */
export function formatPayload({ notificationId, kind, title, request, details, url }: Message): Buffer {
  let payload: PushPayload = { notificationId, kind, title, request, details, url };
  const shorten = [
    () => ({
      ...payload,
      details: cut(details ?? '', (text) => fits({ ...payload, details: text })) || null,
    }),
    () => ({ ...payload, url: null }),
    () => ({ ...payload, title: cut(title, (text) => fits({ ...payload, title: text })) }),
    () => ({ ...payload, request: cut(request, (text) => fits({ ...payload, request: text })) }),
  ];
  for (const step of shorten) {
    if (fits(payload)) break;
    payload = step();
  }
  return Buffer.from(JSON.stringify(payload));
}

function fits(payload: PushPayload): boolean {
  return Buffer.byteLength(JSON.stringify(payload)) <= MAX_CONTENT_BYTES;
}

/** Returns the longest beginning of a text, in whole code points, that fits with an ellipsis; empty if none does. */
function cut(text: string, fitsWith: (text: string) => boolean): string {
  // Each character has at least one byte, and at most two UTF-16 code units.
  const characters = [...text.slice(0, 2 * MAX_CONTENT_BYTES)];
  const shortenTo = (length: number) => `${characters.slice(0, length).join('')}…`;
  let [low, high] = [0, characters.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fitsWith(shortenTo(middle))) low = middle;
    else high = middle - 1;
  }
  return low === 0 ? '' : shortenTo(low);
}
