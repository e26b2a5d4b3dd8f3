import { createEventScanner } from './event-scanner.ts';
import { openConnection, postRequest } from './raw-http.ts';

const QUERY =
  'subscription { notificationEvents { type cursor counts { total } notification { ... on UserNotification { id kind title createdAt } } } }';

/** Streams that wait for their begin at the same time. */
const AT_ONCE = 50;

/**
 * Opens a stream of notification events for every token, and passes on the number of each notification. What cuts a
 * stream afterwards goes to `fail`.
 * @throws {Error} if one is refused
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
  await Promise.all(Array.from({ length: AT_ONCE }, openNext));
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
        if (!text.startsWith('HTTP/1.1 200 ')) reject(new Error(`Subscribing was answered: ${text}`));
        hasBegun = true;
        resolve();
      }
      scan(text);
    };
    const end = (reason: string): void =>
      hasBegun ? fail(`A stream ended: ${reason}`) : reject(new Error(reason));
    const body = JSON.stringify({ query: QUERY });
    openConnection(address, take, end).write(postRequest(address, token, body, 'text/event-stream'));
  });
}
