import { createEventScanner } from './event-scanner.ts';
import { formatPostRequest, openConnection } from './raw-http.ts';

const QUERY =
  'subscription { notificationEvents { type cursor counts { total } notification { ... on UserNotification { id kind title createdAt } } } }';

/** Maximum number of streams that are being opened at the same time. */
const MAX_PENDING = 50;

/**
 * Opens a stream of notification events for every token and passes the number of each notification to `arrive`. Streams
 * that end later are reported to `fail`.
 * @throws {Error} if a stream is rejected
 */
export async function openStreams(
  { address, tokens }: { address: string; tokens: readonly string[] },
  arrive: (number: number) => void,
  fail: (reason: string) => void,
): Promise<void> {
  const waiting = [...tokens];
  const openNext = async (): Promise<void> => {
    for (let token = waiting.pop(); token !== undefined; token = waiting.pop()) {
      await openStream(address, token, arrive, fail);
    }
  };
  await Promise.all(Array.from({ length: MAX_PENDING }, openNext));
}

function openStream(
  address: string,
  token: string,
  arrive: (number: number) => void,
  fail: (reason: string) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const scan = createEventScanner(arrive);
    let hasBegun = false;
    const take = (text: string): void => {
      if (!hasBegun) {
        if (!text.startsWith('HTTP/1.1 200 ')) reject(new Error(`Subscribing failed: ${text}`));
        hasBegun = true;
        resolve();
      }
      scan(text);
    };
    const end = (reason: string): void =>
      hasBegun ? fail(`A stream ended: ${reason}`) : reject(new Error(reason));
    const body = JSON.stringify({ query: QUERY });
    openConnection(address, take, end).write(formatPostRequest(address, token, body, 'text/event-stream'));
  });
}
