import type { Message } from '../message.ts';
import { MAX_CONTENT_BYTES } from './message-encryption.ts';

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
